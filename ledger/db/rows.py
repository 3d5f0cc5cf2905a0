"""Rows of tables as frozen dataclasses: a field takes the column of its name."""

from collections.abc import Callable, Iterator, Mapping, Sequence
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
    Column,
    ColumnDefault,
    ColumnElement,
    Connection,
    Float,
    FromClause,
    Select,
    Table,
    bindparam,
    case,
    false,
    func,
    literal,
    select,
)
from sqlalchemy.types import TypeEngine

from ledger.db.column_types import EnumText, JsonObject, Moment, Parts, Prose, Serial, Texts
from ledger.db.statements import Statement
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
    dict[str, Any]: JsonObject,
}


def columns(row: type[Any], *key: str, long: tuple[str, ...] = ()) -> tuple[Column[Any], ...]:
    """Return a column for every field of `row`: its type follows the field's, only `X | None` may be NULL.

    A new row takes the field's default where no value is given; without a default the insert fails. `key`
    names the columns of the primary key, `long` those that hold pages of text: they go last, since SQLite
    reads a row up to the last column that is asked for.
    """
    hints = get_type_hints(row)
    serial = key if len(key) == 1 and hints[key[0]] is int else ()
    ordered = sorted(fields(row), key=lambda field: field.name in long)
    return tuple(
        _column(field, hints[field.name], field.name in key, Serial if field.name in serial else None)
        for field in ordered
    )


def _column(field: Field[Any], hint: Any, key: bool, kind: TypeEngine[Any] | None) -> Column[Any]:
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    plain = next(option for option in options if option is not NoneType)
    kind = kind or _type_of(getattr(plain, "__supertype__", plain))  # a NewType is stored as its base type
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


def first_row(
    db: Connection, row: Callable[..., T], query: Select[Any] | Statement, /, **values: Any
) -> T | None:
    """Return the first row of `query`; None when there is none. `values` are a statement's parameters."""
    first = query.first(db, values) if isinstance(query, Statement) else db.execute(query).first()
    return None if first is None else row(*first)


def all_rows(
    db: Connection, row: Callable[..., T], query: Select[Any] | Statement, /, **values: Any
) -> tuple[T, ...]:
    """Return all rows of `query`, in its order. `values` are a statement's parameters."""
    rows = query.all(db, values) if isinstance(query, Statement) else db.execute(query)
    return tuple([row(*stored) for stored in rows])


def find(db: Connection, row: Callable[..., T], table: Table, /, *order: str, **key: Any) -> T | None:
    """Return the row whose columns have these values, the first in this order; None when there is none.

    A tuple is a choice of values. `order` names columns; a `-` before a name puts the greatest first.
    """
    first = _select(row, table, order, _shape(key)).first(db, _bind(key))
    return None if first is None else row(*first)


def list_rows(
    db: Connection, row: Callable[..., T], table: Table, /, *order: str, limit: int | None = None, **key: Any
) -> tuple[T, ...]:
    """Return all rows whose columns have these values, or so many, ordered as by `find`."""
    query = _select(row, table, order, _shape(key), limited=limit is not None)
    return tuple([row(*stored) for stored in query.all(db, {**_bind(key), LIMIT: limit})])


def value(db: Connection, column: Column[Any], /, *order: str, **key: Any) -> Any:
    """Return the column of the row that `find` would return; None when there is none."""
    return _select(column, column.table, order, _shape(key)).scalar(db, _bind(key))


def values(
    db: Connection, column: Column[Any], /, *order: str, limit: int | None = None, **key: Any
) -> tuple[Any, ...]:
    """Return the column of all rows that `list_rows` would return."""
    query = _select(column, column.table, order, _shape(key), limited=limit is not None)
    return tuple([stored[0] for stored in query.all(db, {**_bind(key), LIMIT: limit})])


def count(db: Connection, table: Table, /, **key: Any) -> int:
    """Return how many rows have these values in their columns."""
    return int(_count(table, _shape(key)).scalar(db, _bind(key)))


def insert(db: Connection, table: Table, values: Mapping[str, Any]) -> None:
    """Insert a row; a column without a value takes its default. Raises IntegrityError without either."""
    whole = {**_defaults(table), **values}
    _insert(table, tuple(whole)).run(db, whole)


def insert_all(db: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows that all have values for the same columns, every one of the table."""
    if rows:
        _insert(table, tuple(rows[0])).run_all(db, rows)


def keep(db: Connection, table: Table, key: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Set `values` in the row that has `key`, or insert it. Safe because writers take turns."""
    if not change(db, table, key, **values):
        insert(db, table, {**key, **values})


def change(db: Connection, table: Table, key: Mapping[str, Any], /, **values: Any) -> int:
    """Set `values` in the rows that have `key`; return how many those are."""
    return _update(table, _shape(key), tuple(values)).run(db, {**values, **_bind(key)})


def rename_key(db: Connection, table: Table, column: str, before: str, after: str, **key: Any) -> None:
    """Set `column` to `after` in the rows that have `before` there, and `key`, in place of those that have
    `after`.
    """
    if value(db, table.c[column], **{column: before}, **key) is not None:
        drop(db, table, **{column: after}, **key)
        change(db, table, {column: before, **key}, **{column: after})


def add(db: Connection, table: Table, key: Mapping[str, Any], /, **amounts: float) -> int:
    """Add to columns of the rows that have `key`; return how many those are."""
    return _add(table, _shape(key), tuple(amounts)).run(
        db, {**{f"more_{name}": it for name, it in amounts.items()}, **_bind(key)}
    )


def tally(db: Connection, table: Table, total: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add to the column `total` in the row that has the key of each of `rows`, or insert that.

    Each of `rows` has a value for every column.
    """
    _tally(table, total).run_all(db, rows)


def drop(db: Connection, table: Table, /, **key: Any) -> int:
    """Delete the rows whose columns have these values; return how many those were."""
    return _delete(table, _shape(key)).run(db, _bind(key))


def record(db: Connection, table: Table, recorded: Recorded, /, **more: Any) -> None:
    """Write the row of an event; it replaces an earlier row with the same key.

    A column takes its value from `more`, else from the event's field of the same name; `seq` and `at` are
    those of the record. Any other column needs a default.
    """
    event: Any = recorded.event
    named, insertion = _recording(table, event.__class__, tuple(more))
    values = {**_defaults(table), **{name: getattr(event, name) for name in named}}
    values |= {"seq": recorded.seq, "at": recorded.at, **more}
    insertion.run(db, values)


@cache
def _recording(table: Table, kind: Any, more: tuple[str, ...]) -> tuple[tuple[str, ...], Statement]:
    """Return the fields that `record` takes of an event, and its statement."""
    named = tuple(name for name in _list_shared_fields(table, kind) if name not in more)
    given = {*_defaults(table), *named, "seq", "at", *more}
    written = tuple(column.name for column in table.c if column.name in given)
    others = ", ".join(f'"{it.name}" = excluded."{it.name}"' for it in table.c if not it.primary_key)
    replacing = _on_conflict(table, f"UPDATE SET {others}" if others else "NOTHING")
    return named, Statement(table.insert(), written, replacing)


def _on_conflict(table: Table, then: str) -> str:
    key = ", ".join(f'"{column.name}"' for column in table.primary_key)
    return f" ON CONFLICT ({key}) DO {then}"


def recorder(table: Table, **more: Any) -> Callable[[Connection, Recorded, Event], None]:
    """Return a step of a fold that records its events in `table`."""
    return lambda db, recorded, _event: record(db, table, recorded, **more)


def setter(
    table: Table, values: Callable[[E], Mapping[str, Any]], *key: str, **others: str
) -> Callable[[Connection, Recorded, E], None]:
    """Return a step of a fold that sets values in the rows that an event is about.

    Those have in the columns `key` the event's fields of these names, and in `others` those named there.
    """
    field_of = {**dict(zip(key, key, strict=True)), **others}

    def step(db: Connection, _recorded: Recorded, event: E) -> None:
        change(db, table, {name: getattr(event, field) for name, field in field_of.items()}, **values(event))

    return step


def fields_for(table: Table, source: Any) -> dict[str, Any]:
    """Return the fields of the dataclass `source` that `table` has columns for."""
    return {name: getattr(source, name) for name in _list_shared_fields(table, source.__class__)}


@cache
def _list_shared_fields(table: Table, source: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(source) if field.name in table.c)


LIMIT = "most"  # the parameter of a statement that returns so many rows at most
# Of a key: each column's name, and how many values it may have; None for NULL.
Shape = tuple[tuple[str, int | None], ...]
_ONE = -1  # value that is no tuple of them
MAX_PADDED = 1024  # choices of values


@cache
def _select(
    what: Callable[..., Any], table: Any, order: tuple[str, ...], shape: Shape, *, limited: bool = False
) -> Statement:
    query = select(what) if isinstance(what, Column) else pick(what, table)
    by = (table.c[name[1:]].desc() if name[0] == "-" else table.c[name] for name in order)
    query = query.where(*_conditions(table, shape)).order_by(*by)
    return Statement(query.limit(bindparam(LIMIT, type_=BigInteger)) if limited else query)


@cache
def _count(table: Table, shape: Shape) -> Statement:
    return Statement(select(func.count()).select_from(table).where(*_conditions(table, shape)))


@cache
def _defaults(table: Table) -> Mapping[str, Any]:
    return {
        column.name: column.default.arg for column in table.c if isinstance(column.default, ColumnDefault)
    }


@cache
def _insert(table: Table, names: tuple[str, ...]) -> Statement:
    return Statement(table.insert(), names)


@cache
def _update(table: Table, shape: Shape, names: tuple[str, ...]) -> Statement:
    return Statement(table.update().where(*_conditions(table, shape)), names)


@cache
def _add(table: Table, shape: Shape, names: tuple[str, ...]) -> Statement:
    sums = {name: table.c[name] + bindparam(f"more_{name}", type_=table.c[name].type) for name in names}
    return Statement(table.update().where(*_conditions(table, shape)).values(sums))


@cache
def _tally(table: Table, total: str) -> Statement:
    more = f'UPDATE SET "{total}" = "{table.name}"."{total}" + excluded."{total}"'
    return Statement(table.insert(), table.c.keys(), _on_conflict(table, more))


@cache
def _delete(table: Table, shape: Shape) -> Statement:
    return Statement(table.delete().where(*_conditions(table, shape)))


def _conditions(table: Table, shape: Shape) -> Iterator[ColumnElement[bool]]:
    for name, count in shape:
        column = table.c[name]
        if count is None:
            yield column.is_(None)
        elif count == _ONE:
            yield column == bindparam(f"key_{name}", type_=column.type)
        else:
            choices = [bindparam(f"key_{name}_{position}", type_=column.type) for position in range(count)]
            yield column.in_(choices) if choices else false()


def _shape(key: Mapping[str, Any]) -> Shape:
    return tuple(
        [
            (name, None if it is None else width(len(it)) if it.__class__ is tuple else _ONE)
            for name, it in key.items()
        ]
    )


def _bind(key: Mapping[str, Any]) -> dict[str, Any]:
    bound: dict[str, Any] = {}
    for name, it in key.items():
        if it.__class__ is tuple:
            bound |= {f"key_{name}_{position}": choice for position, choice in enumerate(pad(it))}
        else:
            bound["key_" + name] = it
    return bound


def width(count: int) -> int:
    """Return how many values a statement for a choice of `count` takes: few widths, so few statements.

    A long choice is as it is: a database takes only so many values.
    """
    return count if not count or count > MAX_PADDED else 1 << (count - 1).bit_length()


def pad(choices: tuple[T, ...]) -> tuple[T, ...]:
    """Return the choices, the last one again and again up to their width."""
    return choices + choices[-1:] * (width(len(choices)) - len(choices))


def rename_values(column: Column[Any], now: Mapping[str, str | None]) -> Case[Any]:
    """Return the new value of a column when these values of it become others, each bound as the column is."""
    whens = [(column == before, literal(after, column.type)) for before, after in now.items()]
    return case(*whens, else_=column)
