"""Faces of cards: the project fields that are shown, and their form."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from forge.pages.looks import plain_number
from forge.store.board import FieldType, Item, Option, Project, Value
from forge.store.models import Issue

SHOWN_TYPES = frozenset({FieldType.TEXT, FieldType.NUMBER, FieldType.SINGLE_SELECT})
PULL_NUMBER = re.compile(r"#(\d{1,9})\b")
PULL_PATH = re.compile(r"/[\w.-]+/[\w.-]+/pull/(\d+)")


@dataclass(frozen=True, slots=True)
class Chip:
    """A small fact on a card; `field` is the whole name of the field, `name` its visible part."""

    field: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Face:
    """A card as it is shown; an empty text is not shown."""

    item: Item
    agent: str
    progress: str
    pull_path: str
    pull_text: str
    chips: tuple[Chip, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column with its cards in order; `option` is `None` for cards without a status."""

    option: Option | None
    faces: tuple[Face, ...]

    @property
    def key(self) -> str:
        """Return the column's id on the page."""
        return self.option.id if self.option else "none"

    @property
    def name(self) -> str:
        """Return the column's name."""
        return self.option.name if self.option else "No status"


def columns_of(project: Project) -> list[Column]:
    """Return the columns of a board; the one without a status only when it has cards."""
    shown = [item for item in project.items if item.archived_at is None]
    columns = [
        Column(option, tuple(face(item) for item in shown if item.column() is option))
        for option in project.status.options
    ]
    stray = tuple(face(item) for item in shown if item.column() is None)
    return [*columns, Column(None, stray)] if stray else columns


def face(item: Item) -> Face:
    """Return the face of a card."""
    texts = {
        field.name: _text(value)
        for field in item.project.fields
        if field.data_type in SHOWN_TYPES
        and field is not item.project.status
        and (value := item.values.get(field.node_id)) is not None
    }
    agent = texts.pop("Agent", "")
    progress = texts.pop("Progress", "")
    path, text = _pull(texts.pop("PR", ""), item)
    chips = tuple(_chip(name, text) for name, text in texts.items() if text)
    return Face(item, agent, progress, path, text, chips)


def _text(value: Value) -> str:
    if isinstance(value.content, str):
        return value.option.name if value.option else value.content
    return f"{value.content:.2f}" if value.field.name.endswith(" $") else plain_number(value.content)


def _chip(field: str, text: str) -> Chip:
    """Return the chip of a field; one whose name ends in its unit shows the unit with the number."""
    if field.endswith(" $"):
        return Chip(field, "", f"${text}")
    if field.endswith(" min"):
        return Chip(field, "", f"{text} min")
    return Chip(field, field, text)


def _pull(text: str, item: Item) -> tuple[str, str]:
    """Return path and text for the PR field; no path unless it is a pull request of this forge."""
    number = PULL_NUMBER.match(text)
    if number and isinstance(item.content, Issue):
        return f"/{item.content.repo.full_name}/pull/{number[1]}", text
    path = PULL_PATH.fullmatch(urlsplit(text).path) if "/" in text and "//" not in text[8:] else None
    return (path[0], f"#{path[1]}") if path else ("", text)
