"""Metadata of a report: a small dictionary for programs, bounded in size and depth. Pure."""

import json
import math
import re
from collections.abc import Callable
from typing import Any

Metadata = dict[str, Any]
MAX_BYTES = 8_000  # as JSON
MAX_DEPTH = 4  # of dictionaries and lists in each other; the outermost one counts
_NAME = re.compile(r"[\w\[][\w. /\[\]-]{0,59}")  # brackets are of marks, where something was taken out
_NUMBER_BITS = 64
KINDS = "text, a number, true, false, null, a list or a dictionary"


def describe_problem(metadata: object) -> str:
    """Return what is wrong with it, and how to correct that; empty if nothing is."""
    if not isinstance(metadata, dict):
        return "it is not a dictionary: send names with values"
    if because := _describe_value(metadata, MAX_DEPTH):
        return because
    size = len(json.dumps(metadata, ensure_ascii=False).encode("utf-8", "replace"))
    if size > MAX_BYTES:
        remedy = "leave out what nobody needs, and attach long texts as files"
        return f"it has {size:,} bytes as JSON, and may have {MAX_BYTES:,}: {remedy}"
    return ""


def _describe_value(value: object, depth: int) -> str:
    match value:
        case None | bool() | str():
            return ""
        case int() if value.bit_length() > _NUMBER_BITS:
            return f"a number has more than {_NUMBER_BITS} bits: send it as text"
        case float() if not math.isfinite(value):
            return "a number is not finite: send it as text"
        case int() | float():
            return ""
        case dict() | list() | tuple() if not depth:
            return f"it is nested deeper than {MAX_DEPTH} levels: send the inner part as text, or flatten it"
        case list() | tuple():
            return next(filter(None, (_describe_value(item, depth - 1) for item in value)), "")
        case dict():
            return next(filter(None, (_describe_entry(*entry, depth - 1) for entry in value.items())), "")
    return f"{type(value).__name__} is not a value of JSON: send {KINDS}"


def _describe_entry(name: object, value: object, depth: int) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        said = "it begins with a letter or a digit, and has up to 60 letters, digits, spaces and . _ - /"
        return f"{str(name)[:60]!r} cannot be a name: {said}"
    return _describe_value(value, depth)


def change_texts(metadata: Metadata, change: Callable[[str], str]) -> Metadata:
    """Return the metadata with every name and text in it changed, and lists as lists."""
    return {change(name): _change(value, change) for name, value in metadata.items()}


def _change(value: Any, change: Callable[[str], str]) -> Any:
    match value:
        case str():
            return change(value)
        case dict():
            return change_texts(value, change)
        case list() | tuple():
            return [_change(item, change) for item in value]
    return value


def metadata_lines(metadata: Metadata) -> tuple[str, ...]:
    """Return a line for each entry, as people and agents read it: `name: value`."""
    return tuple(f"{name}: {_format(value)}" for name, value in metadata.items())


def _format(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
