"""Rows of the ledger for programs: outside text without its hidden parts, and bounded."""

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from pydantic import BaseModel

from ledger.model.metadata import change_texts
from runner.text.untrusted import without_invisible

MAX_TEXT = 20_000
MAX_ITEMS = 200
T = TypeVar("T")


def clean_row(row: T) -> T:
    """Return the row with each of its texts harmless; None as it is."""
    if row is None:
        return row
    whole: Any = row
    cleaned: T = replace(whole, **{it.name: _clean(getattr(row, it.name)) for it in fields(whole)})
    return cleaned


def copy_fields(model: type[BaseModel], row: object) -> dict[str, Any]:
    """Return what the row has by the names of the model's fields, harmless."""
    return {name: _clean(getattr(row, name)) for name in model.model_fields if hasattr(row, name)}


def _clean(value: Any) -> Any:
    if type(value) is str:  # a member of a closed set is no outside text
        return without_invisible(value)[:MAX_TEXT]
    if isinstance(value, tuple):
        return tuple(map(_clean, value[:MAX_ITEMS]))
    if isinstance(value, dict):
        return change_texts(value, without_invisible)
    return clean_row(value) if is_dataclass(value) else value
