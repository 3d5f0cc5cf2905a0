"""Column types that mean the same in SQLite and PostgreSQL: moments, outside text, tuples, closed sets."""

import json
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, TypeVar

from sqlalchemy import BigInteger, Dialect, Integer, Text
from sqlalchemy.types import TypeDecorator

T = TypeVar("T")
C = TypeVar("C", bound=StrEnum)

# SQLite makes a key its rowid only when it is declared INTEGER; PostgreSQL's INTEGER would end at 2**31.
Serial = BigInteger().with_variant(Integer(), "sqlite")


def stamp(moment: datetime) -> str:
    """Return `moment` in UTC as text of a fixed width, so that text order is time order.

    Raises ValueError for a moment without a time zone: its meaning would depend on the machine.
    """
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone")
    return _stamp(moment if moment.tzinfo is UTC else moment.astimezone(UTC))


@lru_cache(maxsize=256)  # the time of an event is written with each row that is folded from it
def _stamp(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def moment_of(text: str) -> datetime:
    """Return the moment that `stamp` wrote."""
    return datetime.fromisoformat(text)


def storable(text: str) -> str:
    """Return `text` as both databases can hold it: no NUL, no lone surrogate; U+FFFD stands where one was."""
    if text.isascii() and "\x00" not in text:
        return text
    return text.replace("\x00", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class TextColumn(TypeDecorator[T]):
    """The base of values that are stored as text; NULL stays NULL."""

    impl = Text
    cache_ok = True

    def write(self, value: T) -> str:
        raise NotImplementedError

    def read(self, text: str) -> T:
        raise NotImplementedError

    def bind_processor(self, _dialect: Dialect) -> Callable[[T | None], str | None]:
        return lambda value: None if value is None else self.write(value)

    def result_processor(self, _dialect: Dialect, _coltype: object) -> Callable[[Any], T | None] | None:
        read = self.read  # looked up once: it is called for most columns of every row
        return lambda text: None if text is None else read(text)


class Moment(TextColumn[datetime]):
    """A moment, kept as the text that `stamp` makes."""

    cache_ok = True

    def write(self, value: datetime) -> str:
        return stamp(value)

    def read(self, text: str) -> datetime:
        return moment_of(text)


class Prose(TextColumn[str]):
    """Text written by others: characters that a database cannot hold are replaced, the rest is kept."""

    cache_ok = True

    def write(self, value: str) -> str:
        return storable(value)

    def bind_processor(self, _dialect: Dialect) -> Callable[[str | None], str | None]:
        return lambda text: (
            text if text is None or (text.isascii() and "\x00" not in text) else storable(text)
        )

    def result_processor(self, _dialect: Dialect, _coltype: object) -> None:
        return None  # read as it is: ten thousand calls for nothing are felt


@lru_cache(maxsize=64)  # the same boards and plans are read again and again, and most lists are empty
def _texts(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


@lru_cache(maxsize=64)
def _parts(part: type[Any], text: str) -> tuple[Any, ...]:
    return tuple(part(**fields) for fields in json.loads(text))


class Texts(TextColumn[tuple[str, ...]]):
    """A tuple of texts, kept as a JSON list in ASCII."""

    cache_ok = True

    def write(self, value: tuple[str, ...]) -> str:
        return json.dumps(value)

    def read(self, text: str) -> tuple[str, ...]:
        return _texts(text)


class Parts(TextColumn[tuple[Any, ...]]):
    """A tuple of dataclasses of one kind, kept as a JSON list."""

    cache_ok = True

    def __init__(self, part: type[Any]) -> None:
        super().__init__()
        self.part: Any = part

    def write(self, value: tuple[Any, ...]) -> str:
        return json.dumps([asdict(part) for part in value])

    def read(self, text: str) -> tuple[Any, ...]:
        return _parts(self.part, text)


class JsonObject(TextColumn[dict[str, Any]]):
    """A dictionary of JSON values, kept as JSON in ASCII."""

    cache_ok = True

    def write(self, value: dict[str, Any]) -> str:
        return json.dumps(value)

    def read(self, text: str) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(text)
        return read


class EnumText(TextColumn[C]):
    """A member of one of our closed sets, kept as its text."""

    cache_ok = True

    def __init__(self, choices: type[C]) -> None:
        super().__init__()
        self.choices = choices
        self._by_text = {str(choice): choice for choice in choices}

    def write(self, value: C) -> str:
        return str(value)

    def read(self, text: str) -> C:
        return self._by_text.get(text) or self.choices(text)
