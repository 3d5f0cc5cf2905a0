"""Events as text: a kind and a canonical JSON body. Kinds are the classes in `ledger/events`."""

import dataclasses
import importlib
import json
import pkgutil
from datetime import datetime
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ledger import events as folder
from ledger.db.column_types import stamp
from ledger.errors import UnfitEventError, UnknownEventError
from ledger.event import Event


@cache
def kinds() -> dict[str, type[Event]]:
    """Return every event kind by its name; a class that other kinds derive from is no kind itself."""
    for module in pkgutil.iter_modules(folder.__path__):
        importlib.import_module(f"{folder.__name__}.{module.name}")
    return {kind.__name__: kind for kind in sorted(_leaves(Event), key=lambda kind: kind.__name__)}


def families() -> dict[str, tuple[type[Event], ...]]:
    """Return the kinds of each file in `ledger/events`, by the file's name."""
    by_family: dict[str, tuple[type[Event], ...]] = {}
    for kind in kinds().values():
        family = kind.__module__.rsplit(".", 1)[-1]
        by_family[family] = (*by_family.get(family, ()), kind)
    return by_family


def canonical(value: Any) -> str:
    """Return JSON with one spelling: keys sorted, no spaces. Raises ValueError for NaN and the like."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def encode(event: Event) -> tuple[str, str]:
    """Return the kind and the body of `event`. A lone surrogate becomes U+FFFD: no database holds one.

    Raises UnfitEventError when a field is not what its kind says, UnknownEventError when the kind is in no
    family.
    """
    kind = type(event).__name__
    if kinds().get(kind) is not type(event):
        raise UnknownEventError(kind)
    try:
        body = canonical(_plain(event))
    except (TypeError, ValueError) as error:
        raise UnfitEventError(kind, str(error)) from error
    if not body.isascii():
        body = body.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return kind, body


def decode(kind: str, body: str) -> Event:
    """Return the event. Raises UnknownEventError for a kind of newer code, UnfitEventError for a bad body."""
    if kind not in kinds():
        raise UnknownEventError(kind)
    try:
        return _adapter(kind).validate_python(json.loads(body))
    except (ValidationError, ValueError) as error:
        raise UnfitEventError(kind, str(error)) from error


@cache
def _adapter(kind: str) -> TypeAdapter[Event]:
    return TypeAdapter(kinds()[kind])


def _plain(value: Any) -> Any:
    """Return dataclasses as dicts, tuples as lists, moments as text; anything else as it is."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return stamp(value) if isinstance(value, datetime) else value


def _leaves(base: type[Event]) -> set[type[Event]]:
    # dataclass(slots=True) makes a second class; the first stays in __subclasses__ until it is collected
    subclasses = {kind for kind in base.__subclasses__() if _is_named(kind)}
    if not subclasses:
        return {base}
    return set().union(*(_leaves(kind) for kind in subclasses))


def _is_named(kind: type[Event]) -> bool:
    return getattr(importlib.import_module(kind.__module__), kind.__name__, None) is kind
