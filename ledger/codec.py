"""Events as text: a kind and a canonical JSON body. Kinds are the classes in `ledger/events`."""

import dataclasses
import importlib
import json
import pkgutil
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from ledger import events as folder
from ledger.db.column_types import stamp
from ledger.errors import RepeatedKindError, UnfitEventError, UnknownEventError
from ledger.event import Event


@cache
def kinds() -> dict[str, type[Event]]:
    """Return every event kind by its name; a class that other kinds derive from is no kind itself.

    Raises RepeatedKindError.
    """
    for module in pkgutil.iter_modules(folder.__path__):
        importlib.import_module(f"{folder.__name__}.{module.name}")
    return sort_by_name(_leaves(Event))


def sort_by_name(classes: Iterable[type[Event]]) -> dict[str, type[Event]]:
    """Return classes of events by their names, sorted. Raises RepeatedKindError where two have the same."""
    by_name: dict[str, type[Event]] = {}
    for kind in sorted(classes, key=lambda kind: (kind.__name__, kind.__module__)):
        if kind.__name__ in by_name:
            raise RepeatedKindError(kind.__name__, by_name[kind.__name__].__module__, kind.__module__)
        by_name[kind.__name__] = kind
    return by_name


def families() -> dict[str, tuple[type[Event], ...]]:
    """Return the kinds of each file in `ledger/events`, by the file's name."""
    by_family: dict[str, tuple[type[Event], ...]] = {}
    for kind in kinds().values():
        family = kind.__module__.rsplit(".", 1)[-1]
        by_family[family] = (*by_family.get(family, ()), kind)
    return by_family


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical(value: Any) -> str:
    """Return JSON with one spelling: keys sorted, no spaces. Raises ValueError for NaN and the like."""
    return _ENCODER.encode(value)


def encode(event: Event) -> tuple[str, str]:
    """Return the kind and the body of `event`. A lone surrogate becomes U+FFFD: no database holds one.

    Raises UnfitEventError when a field does not fit its kind, UnknownEventError when the kind is in no
    family.
    """
    return _encode(event)[:2]


def encode_event(event: Event) -> tuple[str, str, Event]:
    """Return the kind and the body of `event`, and the event as it will be read back.

    Raises UnfitEventError and UnknownEventError as `encode` and `decode` do.
    """
    kind, body, is_same = _encode(event)
    return kind, body, event if is_same else decode(kind, body)


def decode(kind: str, body: str) -> Event:
    """Return the event. Raises UnknownEventError for a kind of newer code, UnfitEventError for a bad body."""
    if kind not in kinds():
        raise UnknownEventError(kind)
    try:
        return _adapter(kind).validate_json(body)
    except ValidationError as error:
        raise UnfitEventError(kind, str(error)) from error


def _encode(event: Event) -> tuple[str, str, bool]:
    """Return kind and body; and whether the types of the fields prove that it is read back as it is."""
    kind = type(event).__name__
    if kinds().get(kind) is not type(event):
        raise UnknownEventError(kind)
    shape = _shape(kind)
    given = [getattr(event, name) for name in shape.names]
    types = tuple(map(type, given))
    is_same = types in shape.proven or shape.proves(types)
    try:
        body = canonical(dict(zip(shape.names, given if is_same else map(_plain, given), strict=True)))
        if not body.isascii():
            body.encode()
    except UnicodeEncodeError:
        return kind, body.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), False
    except (TypeError, ValueError) as error:
        raise UnfitEventError(kind, str(error)) from error
    return kind, body, is_same


@cache
def _adapter(kind: str) -> TypeAdapter[Event]:
    return TypeAdapter(kinds()[kind])


@dataclasses.dataclass(frozen=True, slots=True)
class _Shape:
    """A kind's fields. `exact` are the types of each whose values JSON gives back as they were; `proven` are
    the combinations of them that were seen.
    """

    names: tuple[str, ...]
    exact: tuple[frozenset[type], ...]
    proven: set[tuple[type, ...]]

    def proves(self, types: tuple[type, ...]) -> bool:
        """Tell whether each field has one of its exact types, and remember it."""
        if not all(kind in exact for kind, exact in zip(types, self.exact, strict=True)):
            return False
        self.proven.add(types)
        return True


@cache
def _shape(kind: str) -> _Shape:
    hints = get_type_hints(kinds()[kind])
    names = tuple(field.name for field in dataclasses.fields(kinds()[kind]))  # type: ignore[arg-type]
    return _Shape(names, tuple(_exact(hints[name]) for name in names), set())


def _exact(hint: Any) -> frozenset[type]:
    """Return the types of an annotation that are read back as themselves: not those that hold others."""
    if get_origin(hint) in (Union, UnionType):
        return frozenset().union(*map(_exact, get_args(hint)))
    plain = getattr(hint, "__supertype__", hint)
    if plain in (str, int, float, bool, NoneType) or (isinstance(plain, type) and issubclass(plain, StrEnum)):
        return frozenset({plain})
    return frozenset()


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
