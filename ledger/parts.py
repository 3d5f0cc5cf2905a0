"""Parts by file name: one registry for each kind of part, with the members that its files must have."""

import pkgutil
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Generic, TypeVar, cast

from ledger.errors import CardinalError

Part = TypeVar("Part")


class UnknownPartError(CardinalError):
    """No file of that name is in the registry's folder; `remedy` says where it was named."""

    def __init__(self, kind: str, name: str, known: tuple[str, ...], remedy: str = "") -> None:
        self.kind, self.name, self.known = kind, name, known
        because = f"there is no {kind} called {name!r} here, only {', '.join(known)}"
        super().__init__(f"{because}: {remedy}" if remedy else because)


class IncompletePartError(CardinalError):
    """A part's file lacks a member that its contract requires."""

    def __init__(self, file: str, contract: str, member: str) -> None:
        self.file, self.contract, self.member = file, contract, member
        super().__init__(f"{file} lacks `{member}`, which every {contract} has: add it")


class Registry(Generic[Part]):
    """The parts of one kind: the files of the package `folder`, found by their names.

    `contract` is the protocol of a part; a member with a value there may be left out. A part is its module,
    or the object that the module `holds` under that name. With `dashes`, names are spelt with
    `-`, as people type them.
    """

    def __init__(
        self,
        kind: str,
        folder: str,
        contract: type,
        *,
        holds: str = "",
        dashes: bool = False,
        remedy: str = "",
    ) -> None:
        self.kind, self.folder, self.contract = kind, folder, contract
        self.holds, self._dashes, self._remedy = holds, dashes, remedy
        self._loaded: dict[str, Part] = {}

    @cached_property
    def _listing(self) -> tuple[str, ...]:
        names = part_names(self.folder)
        return tuple(sorted(name.replace("_", "-") if self._dashes else name for name in names))

    def names(self) -> tuple[str, ...]:
        """Return the names of all parts, sorted. Names that begin with an underscore are no parts."""
        return self._listing

    def load(self, name: str) -> Part:
        """Return the part. A name is looked up in the listing before anything is imported.

        Raises UnknownPartError and IncompletePartError.
        """
        if name not in self._loaded:
            if name not in self._listing:
                raise UnknownPartError(self.kind, name, self._listing, self._remedy)
            self._loaded[name] = self._import(name)
        return self._loaded[name]

    def all(self) -> Iterator[tuple[str, Part]]:
        """Yield every name with its part, in the order of the names."""
        return ((name, self.load(name)) for name in self.names())

    def members(self) -> dict[str, bool]:
        """Return the names of the members that a part has, and whether it must have each."""
        named = dict.fromkeys((*self.contract.__annotations__, *vars(self.contract)))
        return {name: self._is_required(name) for name in named if not name.startswith("_")}

    def _is_required(self, member: str) -> bool:
        value = vars(self.contract).get(member, property())
        return callable(value) or isinstance(value, property)

    def _import(self, name: str) -> Part:
        path = f"{self.folder}.{name.replace('-', '_')}"
        file = f"{path.replace('.', '/')}.py"
        module = import_module(path)
        if self.holds and not hasattr(module, self.holds):
            raise IncompletePartError(file, self.kind, self.holds)
        part: Any = getattr(module, self.holds) if self.holds else module
        for member, required in self.members().items():
            if hasattr(part, member):
                continue
            if required:
                raise IncompletePartError(file, self.kind, member)
            setattr(part, member, vars(self.contract)[member])
        return cast("Part", part)


def part_names(folder: str) -> tuple[str, ...]:
    """Return the names of the modules in a package, sorted; none of them is imported."""
    package = find_spec(folder)
    modules = pkgutil.iter_modules(package.submodule_search_locations if package else ())
    return tuple(sorted(module.name for module in modules if not module.name.startswith("_")))


def charter(part: object) -> str:
    """Return the first line of the part's docstring, for people."""
    return (part.__doc__ or "").strip().split("\n", maxsplit=1)[0]
