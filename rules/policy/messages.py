"""Validation errors as sentences with the line, the path and the remedy."""

import re
from collections.abc import Iterator
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from rules.policy.yaml_reader import Path, Written
from rules.text import alternatives, code, near, plain

SHOWN = 20  # more than that nobody reads; a check run has room for them


class Problem(str):
    """A problem's sentence, with the path that it is about, and what it says of that."""

    path: Path
    said: str

    def __new__(cls, shown: str, path: Path = (), said: str = "") -> "Problem":
        problem = super().__new__(cls, shown)
        problem.path, problem.said = path, said
        return problem


def sentences(
    error: ValidationError, model: type[BaseModel], written: Written, at: Path = ()
) -> tuple[str, ...]:
    """Return one sentence for each problem; `at` is where the model's part of the file begins."""
    return tuple(
        locate(written, (*at, *detail["loc"]), _sentence_of(detail, model))
        for detail in error.errors(include_url=False)
    )


def locate(written: Written, path: Path, said: str) -> Problem:
    """Return the sentence with its line and path in front."""
    known = tuple(path)
    while known and known not in written.lines:
        known = known[:-1]
    shown = plain(".".join(str(part) for part in path), 160)
    line = f"line {written.lines.get(known, 1)}: {f'{shown}: ' if shown else ''}{said}"
    return Problem(line, tuple(path), said)


def cap(problems: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first problems and how many more there are."""
    more = len(problems) - SHOWN
    return problems if more <= 0 else (*problems[:SHOWN], f"and {more} more")


def unknown(what: str, word: str, known: tuple[str, ...]) -> str:
    """Return that the word is unknown, with a similar word, else with all known words."""
    meant = near(word, known)
    hint = f"did you mean {meant}?" if meant else f"known are {alternatives(known) or 'none'}"
    return f"unknown {what} {code(word)}: {hint}"


def _sentence_of(detail: ErrorDetails, model: type[BaseModel]) -> str:
    loc, ctx = detail["loc"], detail.get("ctx", {})
    match detail["type"]:
        case "extra_forbidden":
            return unknown("key", str(loc[-1]), tuple(_keys(model, loc[:-1])))
        case "missing":
            return "is missing"
        case "literal_error" | "enum":
            known = tuple(re.findall(r"'([^']*)'", str(ctx.get("expected", ""))))
            return unknown("value", str(detail["input"]), known)
        case "value_error":
            return plain(str(ctx.get("error", detail["msg"])), 300)
        case _:
            return f"{plain(detail['msg'], 160)}, not {code(str(detail['input']), 40)}"


def _keys(model: Any, loc: tuple[int | str, ...]) -> Iterator[str]:
    here = model
    for key in loc:
        here = _child(here, key)
    for candidate in _flat(here):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            yield from candidate.model_fields


def _child(annotation: Any, key: int | str) -> Any:
    for candidate in _flat(annotation):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            if key in candidate.model_fields:
                return candidate.model_fields[str(key)].annotation
        elif get_origin(candidate) is dict:
            return get_args(candidate)[1]
        elif get_origin(candidate) is tuple:
            return get_args(candidate)[0]
    return None


def _flat(annotation: Any) -> Iterator[Any]:
    """Yield the annotation, or the members of a union or an Annotated."""
    origin = get_origin(annotation)
    if origin in (dict, tuple) or isinstance(annotation, type):
        yield annotation
        return
    for inner in get_args(annotation)[: 1 if hasattr(annotation, "__metadata__") else None]:
        yield from _flat(inner)
