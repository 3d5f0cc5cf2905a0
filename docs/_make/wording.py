"""How types, limits and defaults are said in words, and tables in Markdown."""

import inspect
import json
import types
from collections.abc import Iterable, Mapping, Sequence
from enum import EnumType
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, MaxLen
from pydantic import BaseModel
from pydantic.fields import FieldInfo

PLAIN: dict[Any, str] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    Path: "path",
}


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def cell(text: str) -> str:
    """Return text that a table's cell can hold; outside of code, `<` would begin an HTML tag."""
    parts = " ".join(text.split()).replace("|", "\\|").split("`")
    return "`".join(part if place % 2 else part.replace("<", "&lt;") for place, part in enumerate(parts))


def doc(subject: Any) -> str:
    """Return the docstring as one paragraph per blank line."""
    text = inspect.cleandoc(subject.__doc__ or "")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def default(value: Any) -> str:
    """Return a default as people write it in YAML or in the environment."""
    if isinstance(value, BaseModel):
        return "see there"
    if value is None:
        return "unset"
    if not value and not isinstance(value, int | float):
        return "none"
    if isinstance(value, tuple) and not any(value):
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def limits(field: FieldInfo) -> str:
    """Return the limits of a number, or of a text's or list's length."""
    low, high, length = "", "", ""
    for one in field.metadata:
        match one:
            case Ge(ge):
                low = f"{ge}"
            case Gt(gt):
                low = f"more than {gt}"
            case Le(le):
                high = f"{le:,}"
            case MaxLen(most):
                length = f"at most {most:,}{' characters' if field.annotation is str else ''}"
    if low.isdigit() and high:
        return f"{low} to {high}"
    return ", ".join(
        filter(
            None,
            (low and f"at least {low}" if low[:1].isdigit() else low, high and f"at most {high}", length),
        )
    )


def kind(annotation: Any) -> str:
    """Return what a value of that type is, in words."""
    origin, inside = get_origin(annotation), get_args(annotation)
    if annotation in PLAIN:
        return PLAIN[annotation]
    if isinstance(annotation, EnumType):
        members: Iterable[Any] = annotation
        return ", ".join(f"`{one.value}`" for one in members)
    if origin is Literal:
        return ", ".join(f"`{one}`" for one in inside)
    if origin in (Union, types.UnionType):
        return " or ".join(kind(one) for one in inside if one is not type(None))
    if origin is tuple:
        return f"list of {_many(inside[0])}"
    if origin is dict:
        return f"name → {kind(inside[1])}"
    if hasattr(annotation, "__metadata__"):
        return kind(annotation.__origin__)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    return "mapping" if annotation is Any else str(getattr(annotation, "__name__", annotation))


def _many(annotation: Any) -> str:
    said = kind(annotation)
    return {"text": "texts", "name → mapping": "actions"}.get(said, said)


def json_lines(entries: Mapping[str, object]) -> str:
    """Return a JSON object with a line for each of its entries."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(entry, ensure_ascii=False)}" for name, entry in entries.items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"
