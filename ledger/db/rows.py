"""Rows of tables as frozen dataclasses: a field takes the column of its name."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from sqlalchemy import (
    BigInteger,
    Boolean,
    Case,
    Column,
    ColumnElement,
    Connection,
    Float,
    FromClause,
    Select,
    Table,
    and_,
    case,
    literal,
    select,
)
from sqlalchemy.types import TypeEngine

from ledger.db.column_types import EnumText, Moment, Prose, Texts

T = TypeVar("T")


_TYPES: Mapping[Any, type[TypeEngine[Any]]] = {
    str: Prose,
    int: BigInteger,
    float: Float,
    bool: Boolean,
    datetime: Moment,
    tuple[str, ...]: Texts,
}


def columns(row: type[Any], *key: str, long: tuple[str, ...] = ()) -> tuple[Column[Any], ...]:
    """Return a column for every field of `row`: its type follows the field's, only `X | None` may be NULL.

    `key` names the columns of the primary key, `long` those that hold pages of text: they go last, since
    SQLite reads a row up to the last column that is asked for.
    """
    hints = get_type_hints(row)
    names = sorted((field.name for field in fields(row)), key=lambda name: name in long)
    return tuple(_column(name, hints[name], name in key) for name in names)


def _column(name: str, hint: Any, key: bool) -> Column[Any]:
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    plain = next(option for option in options if option is not NoneType)
    plain = getattr(plain, "__supertype__", plain)  # a NewType is stored as what it is made of
    closed = isinstance(plain, type) and issubclass(plain, StrEnum)
    kind = EnumText(plain) if closed else _TYPES[plain]()
    return Column(name, kind, primary_key=key, nullable=NoneType in options, autoincrement=False)


@cache
def pick(row: type[Any], source: FromClause) -> Select[Any]:
    """Return a SELECT of the columns of `source` that `row` has fields for, in their order."""
    return select(*(source.c[field.name] for field in fields(row)))


def one(db: Connection, row: type[T], query: Select[Any]) -> T | None:
    """Return the first row that `query` finds; None when there is none."""
    found = db.execute(query).first()
    return None if found is None else row(*found)


def many(db: Connection, row: type[T], query: Select[Any]) -> tuple[T, ...]:
    """Return all rows that `query` finds, in its order."""
    return tuple(row(*found) for found in db.execute(query))


def keep(db: Connection, table: Table, key: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Set `values` in the row that has `key`, or insert it. Safe because writers take turns."""
    if not db.execute(table.update().where(where(table, key)).values(**values)).rowcount:
        db.execute(table.insert().values(**key, **values))


def where(table: Table, key: Mapping[str, Any]) -> ColumnElement[bool]:
    """Return the condition that every column named in `key` has the value given."""
    return and_(*(table.c[name] == value for name, value in key.items()))


def renamed_in(column: Column[Any], now: Mapping[str, str | None]) -> Case[Any]:
    """Return what a column holds once these values of it have become others, each bound as the column is."""
    whens = [(column == before, literal(after, column.type)) for before, after in now.items()]
    return case(*whens, else_=column)
