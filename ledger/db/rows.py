"""Rows of tables as frozen dataclasses: a field takes the column of its name."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from datetime import datetime
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from sqlalchemy import (
    BigInteger,
    Boolean,
    Case,
    ClauseElement,
    Column,
    ColumnElement,
    Connection,
    Delete,
    Float,
    FromClause,
    Select,
    Table,
    Update,
    and_,
    bindparam,
    case,
    literal,
    select,
)
from sqlalchemy.types import TypeEngine

from ledger.db.column_types import EnumText, Moment, Parts, Prose, Texts
from ledger.event import Event, Recorded

T = TypeVar("T")
E = TypeVar("E", bound=Event)

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

    A new row takes the field's default where no value is given; without a default the insert fails. `key`
    names the columns of the primary key, `long` those that hold pages of text: they go last, since SQLite
    reads a row up to the last column that is asked for.
    """
    hints = get_type_hints(row)
    ordered = sorted(fields(row), key=lambda field: field.name in long)
    return tuple(_column(field, hints[field.name], field.name in key) for field in ordered)


def _column(field: Field[Any], hint: Any, key: bool) -> Column[Any]:
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    plain = next(option for option in options if option is not NoneType)
    kind = _type_of(getattr(plain, "__supertype__", plain))  # a NewType is stored as its base type
    default = None if field.default is MISSING else field.default
    nullable = NoneType in options
    return Column(field.name, kind, primary_key=key, nullable=nullable, autoincrement=False, default=default)


def _type_of(plain: Any) -> TypeEngine[Any]:
    if isinstance(plain, type) and issubclass(plain, StrEnum):
        return EnumText(plain)
    if get_origin(plain) is tuple and plain not in _TYPES:
        return Parts(get_args(plain)[0])
    return _TYPES[plain]()


@cache
def pick(row: type[Any], source: FromClause) -> Select[Any]:
    """Return a SELECT of the columns of `source` that `row` has fields for, in their order."""
    return select(*(source.c[field.name] for field in fields(row)))


def first_row(db: Connection, row: Callable[..., T], query: Select[Any]) -> T | None:
    """Return the first row of `query`; None when there is none."""
    first = db.execute(query).first()
    return None if first is None else row(*first)


def all_rows(db: Connection, row: Callable[..., T], query: Select[Any]) -> tuple[T, ...]:
    """Return all rows of `query`, in its order."""
    return tuple(row(*values) for values in db.execute(query))


def find(db: Connection, row: Callable[..., T], table: Table, /, **key: Any) -> T | None:
    """Return the row whose columns have these values; None when there is none."""
    first = db.execute(_select(row, table, (), _shape(key)), _bound(key)).first()
    return None if first is None else row(*first)


def listed(db: Connection, row: Callable[..., T], table: Table, /, *order: str, **key: Any) -> tuple[T, ...]:
    """Return all rows whose columns have these values, ordered by the columns `order`."""
    return tuple(row(*values) for values in db.execute(_select(row, table, order, _shape(key)), _bound(key)))


def keep(db: Connection, table: Table, key: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Set `values` in the row that has `key`, or insert it. Safe because writers take turns."""
    if not change(db, table, key, **values):
        db.execute(table.insert(), {**key, **values})


def change(db: Connection, table: Table, key: Mapping[str, Any], /, **values: Any) -> int:
    """Set `values` in the rows that have `key`; return how many those are."""
    update, given = _update(table, _shape(key)), _bound(key)
    if _are_plain(values):
        return int(db.execute(update, {**values, **given}).rowcount)
    return int(db.execute(update.values(**values), given).rowcount)


def drop(db: Connection, table: Table, /, **key: Any) -> None:
    """Delete the rows whose columns have these values."""
    db.execute(_delete(table, _shape(key)), _bound(key))


def record(db: Connection, table: Table, it: Recorded, /, **more: Any) -> None:
    """Write the row of an event; it replaces an earlier row with the same key.

    A column takes its value from `more`, else from the event's field of the same name; `seq` and `at` are
    those of the record. Any other column needs a default.
    """
    values = {**fields_for(table, it.event), "seq": it.seq, "at": it.at, **more}
    values = {name: value for name, value in values.items() if name in table.c}
    key = {column.name: values[column.name] for column in table.primary_key}
    if "seq" not in key:  # no two events have the same
        drop(db, table, **key)
    db.execute(table.insert(), values)


def recorder(table: Table, **more: Any) -> Callable[[Connection, Recorded, Event], None]:
    """Return a step of a fold that records its events in `table`."""
    return lambda db, it, _event: record(db, table, it, **more)


def setter(
    table: Table, values: Callable[[E], Mapping[str, Any]], *key: str
) -> Callable[[Connection, Recorded, E], None]:
    """Return a step of a fold that sets values in the rows that an event is about.

    Those have in the columns `key` the event's fields of these names.
    """

    def step(db: Connection, _it: Recorded, event: E) -> None:
        change(db, table, {name: getattr(event, name) for name in key}, **values(event))

    return step


def fields_for(table: Table, source: Any) -> dict[str, Any]:
    """Return the fields of the dataclass `source` that `table` has columns for."""
    return {name: getattr(source, name) for name in _shared_fields(table, source.__class__)}


@cache
def _shared_fields(table: Table, source: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(source) if field.name in table.c)


# Statements are built once: SQLAlchemy takes longer over a new one than SQLite over its rows.


Shape = tuple[tuple[str, bool], ...]  # of a key: each column's name, and whether it has a value


@cache
def _select(row: Callable[..., Any], table: Table, order: tuple[str, ...], shape: Shape) -> Select[Any]:
    query = pick(row, table).order_by(*(table.c[name] for name in order))
    return query.where(*_conditions(table, shape))


@cache
def _update(table: Table, shape: Shape) -> Update:
    return table.update().where(*_conditions(table, shape))


@cache
def _delete(table: Table, shape: Shape) -> Delete:
    return table.delete().where(*_conditions(table, shape))


def _conditions(table: Table, shape: Shape) -> Iterator[ColumnElement[bool]]:
    for name, has_value in shape:
        column = table.c[name]
        yield column == bindparam(f"key_{name}", type_=column.type) if has_value else column.is_(None)


def _shape(key: Mapping[str, Any]) -> Shape:
    return tuple((name, value is not None) for name, value in key.items())


def _bound(key: Mapping[str, Any]) -> dict[str, Any]:
    return {f"key_{name}": value for name, value in key.items() if value is not None}


def _are_plain(values: Mapping[str, Any]) -> bool:
    return not any(isinstance(value, ClauseElement) for value in values.values())


def where(table: Table, key: Mapping[str, Any]) -> ColumnElement[bool]:
    """Return the condition that every column named in `key` has the value given."""
    return and_(*(table.c[name] == value for name, value in key.items()))


def renamed_in(column: Column[Any], now: Mapping[str, str | None]) -> Case[Any]:
    """Return the new value of a column when these values of it become others, each bound as the column is."""
    whens = [(column == before, literal(after, column.type)) for before, after in now.items()]
    return case(*whens, else_=column)
