"""Statements compiled once in the life of a process; the driver runs their SQL without more ado.

SQLAlchemy takes several times longer over a small statement than SQLite over its rows: it looks the statement
up, makes a context and a result for it, and compiles it anew for each engine.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from inspect import signature
from typing import Any, ParamSpec, cast

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    Delete,
    Dialect,
    Insert,
    Select,
    Table,
    Update,
    bindparam,
    create_mock_engine,
    false,
    literal,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.selectable import SelectBase
from sqlalchemy.types import TypeEngine

Convert = Callable[[Any], Any]
Row = Sequence[Any]
Built = Select[Any] | CompoundSelect[Any] | Insert | Update | Delete
P = ParamSpec("P")
WHERE = "where"  # the condition of an index, in its `info`: as its dialects' own it would load them all
MAX_KEPT = 128  # of each kind, with their values, of 2 to 100 KB; a team asks for the same again and again


@dataclass(slots=True)
class _Compiled:
    """A statement for one kind of database. `by_name`: its parameters are a mapping, else a tuple.

    A parameter that the statement itself gave a value has it in `fixed`, as the driver takes it.
    """

    sql: str
    by_name: bool
    parameters: tuple[tuple[str, Convert | None], ...]
    fixed: Mapping[str, Any]
    kinds: tuple[TypeEngine[Any], ...]  # of the columns of a result
    converted: tuple[tuple[int, Convert], ...] | None = None  # those columns that the driver does not convert

    def bind(self, values: Mapping[str, Any]) -> Any:
        """Return the parameters as the driver takes them. Raises KeyError for a missing one."""
        fixed = self.fixed
        if fixed:
            values = {**values, **fixed}
        bound = [
            values[name] if convert is None else convert(values[name]) for name, convert in self.parameters
        ]
        return dict(zip((name for name, _ in self.parameters), bound, strict=True)) if self.by_name else bound

    def rows(self, stored: list[Row], dialect: Dialect, cursor: Any) -> list[Row]:
        """Return rows as the driver gave them with Python's values in place of stored ones."""
        if self.converted is None:  # only a result tells how PostgreSQL gives a number
            codes = [column[1] for column in cursor.description]
            converts = [
                kind.result_processor(dialect, code) for kind, code in zip(self.kinds, codes, strict=True)
            ]
            self.converted = tuple(
                (at, convert) for at, convert in enumerate(converts) if convert is not None
            )
        if not self.converted:
            return stored
        rows: list[Any] = [list(row) for row in stored]
        for at, convert in self.converted:
            for row in rows:
                row[at] = convert(row[at])
        return rows


def drive(db: Connection, sql: str, parameters: Any = (), *, for_each: bool = False) -> Any:
    """Let the driver run SQL that is ready for this database, once `for_each` of the parameters; return
    its cursor.

    Raises SQLAlchemy's errors, as its own way of running a statement does.
    """
    driver: Any = db.connection.dbapi_connection
    try:
        return driver.cursor().executemany(sql, parameters) if for_each else driver.execute(sql, parameters)
    except db.dialect.loaded_dbapi.Error as error:
        base = db.dialect.loaded_dbapi.Error
        raise DBAPIError.instance(sql, None, error, base, dialect=db.dialect) from error


class Statement:
    """A statement with named parameters, to be kept: a module's constant, or cached by its subject.

    For a list of values there is `is_among`: for IN, SQLAlchemy writes the SQL anew for each length.
    """

    def __init__(self, built: Built | Callable[[], Built], sets: Iterable[str] = (), more: str = "") -> None:
        """`sets` names the columns that an INSERT or UPDATE gives a value by parameters of their names.

        `more` is SQL of both databases that ends it.
        """
        self._built, self._sets, self._more = built, tuple(sets), more
        self._compiled: dict[str, _Compiled] = {}  # by the name of a dialect

    def first(self, db: Connection, values: Mapping[str, Any]) -> Row | None:
        """Return the first row; None when there is none."""
        compiled, cursor = self._execute(db, values)
        stored = cursor.fetchone()
        return None if stored is None else compiled.rows([stored], db.dialect, cursor)[0]

    def all(self, db: Connection, values: Mapping[str, Any]) -> list[Row]:
        compiled, cursor = self._execute(db, values)
        return compiled.rows(cursor.fetchall(), db.dialect, cursor)

    def scalar(self, db: Connection, values: Mapping[str, Any]) -> Any:
        """Return the first column of the first row; None when there is no row."""
        row = self.first(db, values)
        return None if row is None else row[0]

    def run(self, db: Connection, values: Mapping[str, Any]) -> int:
        """Carry out a statement that writes; return how many rows it was about."""
        return int(self._execute(db, values)[1].rowcount)

    def run_all(self, db: Connection, rows: Iterable[Mapping[str, Any]]) -> None:
        """Carry out a statement that writes, for each row of values."""
        compiled = self._for(db.dialect)
        drive(db, compiled.sql, list(map(compiled.bind, rows)), for_each=True)

    def _execute(self, db: Connection, values: Mapping[str, Any]) -> tuple[_Compiled, Any]:
        """Return the statement as this database has it, and its cursor."""
        compiled = self._for(db.dialect)
        return compiled, drive(db, compiled.sql, compiled.bind(values))

    def _for(self, dialect: Dialect) -> _Compiled:
        compiled = self._compiled.get(dialect.name)
        if compiled is None:
            built = self._built() if callable(self._built) else self._built
            compiled = self._compiled[dialect.name] = _compile(built, self._sets, self._more, dialect)
        return compiled


def statement(build: Callable[..., Built]) -> Statement:
    """Return the statement that `build` makes of parameters named as its own."""
    return Statement(build(*map(bindparam, signature(build).parameters)))


def kept(build: Callable[P, Select[Any] | CompoundSelect[Any]]) -> Callable[P, Statement]:
    """Return the statement that `build` makes, values and all, kept for the same arguments as SQL alone: what
    SQLAlchemy made it of is ten times larger.
    """

    make = lru_cache(MAX_KEPT)(lambda *args, **named: Statement(partial(build, *args, **named)))
    return cast("Callable[P, Statement]", make)


def is_among(column: ColumnElement[Any], choices: Collection[Any]) -> ColumnElement[bool]:
    """Return the condition that a column has one of these values, each a parameter of its own."""
    return column.in_([literal(it, column.type) for it in choices]) if choices else false()


def make_tables(db: Connection, tables: Iterable[Table]) -> None:
    """Make the tables with those indexes that are for this database; none of them may be there."""
    for table in tables:
        for sql in _making(table, tuple(index.name for index in table.indexes), db.engine.url.drivername):
            db.exec_driver_sql(sql)


@cache
def _making(table: Table, _indexes: tuple[str | None, ...], drivername: str) -> tuple[str, ...]:
    made: list[Any] = []
    mock = create_mock_engine(f"{drivername}://", lambda sql, *_, **__: made.append(sql))
    for index in table.indexes:
        if WHERE in index.info:
            index.dialect_options[mock.dialect.name]["where"] = index.info[WHERE]
    table.create(mock, checkfirst=False)  # it knows which indexes are for one kind of database only
    return tuple(str(sql.compile(dialect=mock.dialect)) for sql in made)


def _compile(built: Built, sets: Sequence[str], more: str, dialect: Dialect) -> _Compiled:
    compiler = built.compile(dialect=dialect, column_keys=list(sets) or None)
    assert isinstance(compiler, SQLCompiler)
    names = compiler.positiontup if compiler.positional else dict.fromkeys(compiler.bind_names.values())
    parameters, fixed = [], {}
    for name in names or ():
        bind = compiler.binds[name]
        if bind.expanding or (isinstance(built, Insert) and name not in sets and not bind.required):
            raise TypeError(f"{name} has no single value of its own: {compiler.string}")
        convert = _plain(bind.type, dialect).bind_processor(dialect)
        if not bind.required and name not in sets:
            value = compiler.params[name]
            fixed[name], convert = value if convert is None else convert(value), None
        parameters.append((name, convert))
    columns = built.selected_columns if isinstance(built, SelectBase) else ()
    kinds = tuple(_plain(column.type, dialect) for column in columns)
    return _Compiled(compiler.string + more, not compiler.positional, tuple(parameters), fixed, kinds)


def _plain(kind: TypeEngine[Any], dialect: Dialect) -> TypeEngine[Any]:
    return kind.dialect_impl(dialect)
