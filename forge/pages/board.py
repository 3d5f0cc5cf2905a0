"""The board: columns, cards, drafts, and the drop of a card."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from flask import render_template, request
from flask.typing import ResponseReturnValue

from forge.errors import ForbiddenError, NotFoundError
from forge.pages.looks import address, plain_number
from forge.pages.site import answer_change, came_from, may_arrange, pages, person, reaches, repo_named
from forge.rest.context import store
from forge.store.board import DraftIssue, FieldType, Item, Option, Project, Value
from forge.store.models import Issue, Role

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
    return Face(item=item, agent=agent, progress=progress, pull_path=path, pull_text=text, chips=chips)


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


DRAFT = "draft"
BOARD = "/orgs/<org>/projects/<int:number>"


def project_at(org: str, number: int) -> Project:
    """Return the project; raises NotFoundError."""
    return store().projects.get(store().users.get(org), number)


def arrangeable(org: str, number: int) -> Project:
    """Return the project; raises ForbiddenError when the visitor may not change it."""
    project = project_at(org, number)
    if not may_arrange(project):
        raise ForbiddenError(f"Only members of {project.owner.login} can change this board.")
    return project


def card_on(project: Project, item_id: str) -> Item:
    """Return the card; raises NotFoundError when it is not on this board."""
    item = store().nodes.get(item_id)
    if not isinstance(item, Item) or item.project is not project:
        raise NotFoundError("That card is no longer on the board.")
    return item


def draft_on(project: Project, item_id: str) -> tuple[Item, DraftIssue]:
    """Return a draft card and its content; raises NotFoundError when it was converted."""
    item = card_on(project, item_id)
    if not isinstance(item.content, DraftIssue):
        raise NotFoundError("That card is an issue by now.")
    return item, item.content


def drop(item: Item, column: str | None, before: Item | None) -> None:
    """Put a card where it was dropped: above `before`, or last in the column."""
    projects, project, me = store().projects, item.project, person()
    option = item.column()
    if (option.name if option else None) != column:
        projects.drag(item, column, actor=me, before=before)
        if before is not None:
            return
    others = [card for card in project.items if card is not item]
    if before is not None:
        position = others.index(before)
        projects.move(item, others[position - 1] if position else None, actor=me)
        return
    mates = [card for card in others if card.column() is item.column()]
    if mates and project.items.index(mates[-1]) > project.items.index(item):
        projects.move(item, mates[-1], actor=me)


@pages.on(BOARD)
def board(org: str, number: int) -> ResponseReturnValue:
    project = project_at(org, number)
    repos = [repo for repo in store().repos.all() if repo.owner is project.owner and reaches(repo, Role.READ)]
    return render_template(
        "board.html",
        project=project,
        columns=columns_of(project),
        may_arrange=may_arrange(project),
        repos=repos,
        update=project.status_updates[0] if project.status_updates else None,
    )


@pages.on(f"{BOARD}/drops", post=True)
def drop_card(org: str, number: int) -> ResponseReturnValue:
    project = arrangeable(org, number)
    item = card_on(project, request.form.get("item", ""))
    wanted = request.form.get("before", "")
    before = card_on(project, wanted) if wanted else None
    drop(item, request.form.get("column") or None, before if before is not item else None)
    return answer_change(address(project))


@pages.on(f"{BOARD}/cards", post=True)
def add_card(org: str, number: int) -> ResponseReturnValue:
    project = arrangeable(org, number)
    title, body = request.form.get("title", "").strip(), request.form.get("body", "")
    where, column = request.form.get("where", DRAFT), request.form.get("column") or None
    if where == DRAFT:
        item = store().projects.add_draft(project, title, body, actor=person())
    else:
        issue = store().issues.create(repo_named(where), title, body, actor=person())
        item = store().projects.add(project, issue, actor=person())
    drop(item, column, None)
    return answer_change(address(project))


@pages.on(f"{BOARD}/drafts/<item_id>")
def draft(org: str, number: int, item_id: str) -> ResponseReturnValue:
    item, content = draft_on(project_at(org, number), item_id)
    repos = [repo for repo in store().repos.all() if repo.owner is item.project.owner]
    allowed = may_arrange(item.project)
    return render_template("draft.html", item=item, draft=content, repos=repos, may_arrange=allowed)


@pages.on(f"{BOARD}/drafts/<item_id>/issue", post=True)
def convert_draft(org: str, number: int, item_id: str) -> ResponseReturnValue:
    item, _ = draft_on(arrangeable(org, number), item_id)
    repo = repo_named(request.form.get("where", ""))
    return answer_change(address(store().projects.convert_draft(item, repo, actor=person())))


@pages.on(f"{BOARD}/cards/<item_id>/archive", post=True)
def archive_card(org: str, number: int, item_id: str) -> ResponseReturnValue:
    project = arrangeable(org, number)
    store().projects.set_archived(card_on(project, item_id), True, actor=person())
    return answer_change(came_from(address(project)))
