"""Names of the views' tables: each ends in the digest of the code that folds it, so that two versions differ.

Views that import each other read or write each other's tables while they fold. They are a group: they have
their digest in common, and are folded together.
"""

import pkgutil
import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from importlib import import_module
from secrets import token_hex
from types import ModuleType

from sqlalchemy import Column, Table
from sqlalchemy.sql import quoted_name

# Where a fold's code lies. The ledger's other modules store and read rows, and do not know what they mean.
FOLDERS, MODULES = ("ledger.views", "ledger.rows", "ledger.model"), ("ledger.states",)
DIGEST_CHARS = 8  # in the name of a table; PostgreSQL cuts names off after 63
_IMPORT = re.compile(rb"^from (ledger[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)

Sources = Mapping[str, bytes]  # by the full name of the module
AGAIN = "again"  # ends the names of tables that `ledger.lifecycle.again` folds
_again: list[str] = []  # AGAIN, or nothing


def fold_again() -> None:
    """Let this process fold tables of names of their own.

    Must be called before the tables have their names.
    """
    _again[:] = [AGAIN]


def folds_again() -> bool:
    return bool(_again)


def name_indexes(tables: Iterable[Table]) -> None:
    """Give the indexes of tables that are folded again names that no other has had.

    A table that takes another's place keeps its indexes, and the database their names.
    """
    token = token_hex(4)
    for index in (index for table in tables for index in table.indexes if folds_again()):
        index.name = quoted_name(f"{str(index.name).rpartition('_')[0]}_{token}", None)


def sources() -> Sources:
    """Return the code of the views and of the modules that they use."""
    names = [*MODULES]
    for folder in FOLDERS:
        listed = pkgutil.iter_modules(import_module(folder).__path__)
        names += [f"{folder}.{module.name}" for module in listed]
    return {name: _source(name) for name in names}


def groups(code: Sources, views: tuple[str, ...]) -> dict[str, frozenset[str]]:
    """Return for each of the modules in `views` those of `code` that its folds depend on, and itself."""
    merged: list[frozenset[str]] = []
    for view in views:
        reached = _collect_imports(code, view)
        joined = [group for group in merged if not reached.isdisjoint(group.intersection(views))]
        merged = [group for group in merged if group not in joined] + [reached.union(*joined)]
    return {view: group for group in merged for view in sorted(group.intersection(views))}


def name_tables(code: Sources, modules: Mapping[str, ModuleType]) -> dict[str, str]:
    """Give the tables of the imported views their names; return the digest of each view's code.

    Must be done before the first statement about a view is compiled.
    """
    own = {name: _own_tables(code, name, modules) for name in modules}
    shapes = {name: b"".join(map(_shape, tables)) for name, tables in own.items()}
    of_group = dict[frozenset[str], str]()
    digests = {}
    for name, files in groups(code, tuple(modules)).items():
        if files not in of_group:
            parts = (
                file.encode() + b"\0" + code[file] + b"\0" + shapes.get(file, b"") for file in sorted(files)
            )
            of_group[files] = sha256(b"".join(parts)).hexdigest()
        digests[name] = of_group[files]
    for name, tables in own.items():
        for table in tables:
            suffix = digests[name][:DIGEST_CHARS]
            table.name = "_".join((table.name, suffix, *_again))
            for index in table.indexes:
                index.name = quoted_name("_".join((str(index.name), suffix, *_again)), None)
    return digests


def _collect_imports(code: Sources, name: str) -> frozenset[str]:
    reached, waiting = {name}, [name]
    while waiting:
        new = set(_find_imports(code, waiting.pop())) - reached
        reached |= new
        waiting += new
    return frozenset(reached)


def _find_imports(code: Sources, name: str) -> Iterator[str]:
    for package, imported in _IMPORT.findall(code[name]):
        for module in (package, *(package + b"." + word for word in re.findall(rb"\w+", imported))):
            if module.decode() in code:
                yield module.decode()


def _own_tables(code: Sources, name: str, modules: Mapping[str, ModuleType]) -> tuple[Table, ...]:
    """Return the tables that the view made, without those that it imported."""
    others = [vars(modules[other]).values() for other in _find_imports(code, name) if other in modules]
    foreign = {id(value) for values in others for value in values}
    mine = {id(value): value for value in vars(modules[name]).values() if isinstance(value, Table)}
    return tuple(sorted((mine[at] for at in mine.keys() - foreign), key=lambda table: table.name))


def _shape(table: Table) -> bytes:
    """Return the parts of the columns that database and row depend on: a type may be an event field's."""
    return b"".join(_column_shape(column).encode() + b"\0" for column in table.columns)


def _column_shape(column: Column[object]) -> str:
    default = getattr(column.default, "arg", None)
    return f"{column.name} {column.type!r} {column.nullable} {column.primary_key} {default!r}"


def _source(name: str) -> bytes:
    package, _, module = name.rpartition(".")
    return pkgutil.get_data(package, f"{module}.py") or b""
