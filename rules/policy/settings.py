"""Every setting of a policy by its dotted name, in words, and those that differ between two policies."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import BaseModel

from ledger.events.policy import SettingChange
from rules.policy.model import Policy
from rules.text import plain

MAX_NAME = 160
MAX_TEXT = 400  # of one value
MAX_CHANGED_TEXT = 160  # of one that differs
MAX_CHANGED = 100  # with their names
ALL = 99
_COLUMNS = "board.columns."
_LINK = re.compile(r"\[([^][]*+)\]\([^)]*\)")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its name, its value, and its meaning."""

    name: str
    value: object
    meaning: str

    @property
    def words(self) -> str:
        return plain(_words(self.value), MAX_TEXT)


def settings_of(model: BaseModel, depth: int = ALL, prefix: str = "") -> Iterator[Setting]:
    """Yield the settings of a part of a policy, and of the parts in it, in the model's order.

    Defaults are there in the first `depth` parts, from the outside inwards.
    """
    for name, field in type(model).model_fields.items():
        if depth > 0 or name in model.model_fields_set:
            meaning = plain_meaning(field.description or "")
            yield from _settings(f"{prefix}{name}", getattr(model, name), meaning, depth - 1)


def plain_meaning(description: str) -> str:
    """Return a setting's description without Markdown."""
    return _LINK.sub(r"\1", description).replace("`", "")


def settings_of_no_column(policy: Policy, depth: int = ALL) -> Iterator[Setting]:
    return (it for it in settings_of(policy, depth) if not it.name.startswith(_COLUMNS))


def find_changed_settings(before: Policy, after: Policy) -> tuple[tuple[SettingChange, ...], int]:
    """Return the first MAX_CHANGED settings that differ, of columns that both have and of the rest, and how
    many more do; each value from near where they begin to differ.
    """
    columns = ((name, before.column(name), column) for name, column in after.board.columns.items())
    both = ((name, settings_of(old), settings_of(new)) for name, old, new in columns if old is not None)
    pairs = (*both, ("", settings_of_no_column(before), settings_of_no_column(after)))
    changes = [change for pair in pairs for change in _compare_column(*pair)]
    return tuple(changes[:MAX_CHANGED]), len(changes[MAX_CHANGED:])


def _compare_column(
    column: str, before: Iterator[Setting], after: Iterator[Setting]
) -> Iterator[SettingChange]:
    old, new = ({it.name: it.value for it in side if it.value != {}} for side in (before, after))
    for name in {**new, **old}:
        if old.get(name) != new.get(name):
            yield SettingChange(column, name, *_near(_words(old.get(name)), _words(new.get(name))))


def _settings(name: str, value: object, meaning: str, depth: int) -> Iterator[Setting]:
    match value:
        case BaseModel():
            yield from settings_of(value, depth, f"{name}.")
        case dict() if value:
            for key, part in value.items():
                yield from _settings(f"{name}.{key}", part, meaning, depth)
        case _:
            yield Setting(plain(name, MAX_NAME), value, meaning)


def _near(before: str, after: str) -> tuple[str, str]:
    shorter = min(len(before), len(after))
    same = next((at for at in range(shorter) if before[at] != after[at]), shorter)
    start = same - MAX_CHANGED_TEXT // 4 if same > MAX_CHANGED_TEXT // 2 else 0
    mark = "…" if start else ""
    near_before, near_after = (plain(mark + it[start:], MAX_CHANGED_TEXT) for it in (before, after))
    return near_before, near_after


def _words(value: object) -> str:
    """Return a value as a person reads it: nested ones by their set names, nothing as none."""
    match value:
        case BaseModel():
            given = {name: getattr(value, name) for name in value.model_fields_set}
            return "; ".join(f"{it}: {_words(given[it])}" for it in type(value).model_fields if it in given)
        case None:
            return "not set"
        case () | "":
            return "none"
        case tuple() | list():
            return ", ".join(f"({_words(it)})" if isinstance(it, dict) else _words(it) for it in value)
        case dict():
            return "; ".join(f"{name}: {_words(part)}" for name, part in value.items()) or "none"
        case bool():
            return "yes" if value else "no"
        case _:
            return str(value)
