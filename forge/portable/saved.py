"""Everything a forge knows, in one file that is written before each answer.

What a killed process had not written did not happen: its refs go back to where the file says, and whoever
asked had no answer yet.
"""

import io
import os
import pickle
from collections import deque
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from forge.git.repository import ZERO_SHA
from forge.seed.world import World
from forge.store import Store

KEPT_DELIVERIES = 200
PLAIN = {
    ("builtins", "set"),
    ("builtins", "frozenset"),
    ("collections", "deque"),
    ("collections", "OrderedDict"),
    ("datetime", "datetime"),
    ("datetime", "timedelta"),
    ("datetime", "timezone"),
}


class StateError(Exception):
    """The file cannot be read; `because` says why."""

    def __init__(self, because: str) -> None:
        self.because = because
        super().__init__(because)


class _Reader(pickle.Unpickler):  # noqa: S301 - restricted, as the documentation shows
    """Makes objects of the store and plain values only: the file may come from somebody else.

    Source: docs.python.org/3/library/pickle.html#restricting-globals.
    """

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        """Return a class of the store. Raises UnpicklingError for anything else."""
        if (module_name, global_name) == ("builtins", "getattr"):
            return _member
        own = module_name.startswith("forge.store") or module_name == World.__module__
        if (module_name, global_name) not in PLAIN and not own:
            raise pickle.UnpicklingError(f"{module_name}.{global_name} is nothing that a forge keeps")
        made = super().find_class(module_name, global_name)
        if not isinstance(made, type) or made.__module__ not in {module_name, "datetime", "collections"}:
            raise pickle.UnpicklingError(f"{module_name}.{global_name} is no class of the forge's")
        return made


def _member(kind: object, name: str) -> Enum:
    """Return a member of an enumeration: Python 3.11.0 to 3.11.3, Debian 12's, writes it as a `getattr`."""
    if not (isinstance(kind, type) and issubclass(kind, Enum)):
        raise pickle.UnpicklingError("it asks for an attribute, which no forge does")
    return kind[name]


def _complete(store: Store, fresh: Store) -> None:
    """Give a store of an older Cardinal the parts and tables that have come since."""
    for name, part in vars(fresh).items():
        if name not in vars(store):
            setattr(store, name, part)
            vars(part).update({"store": store} if "store" in getattr(part, "__dict__", {}) else {})
        for table, value in getattr(part, "__dict__", {}).items():
            vars(getattr(store, name)).setdefault(table, value)


def _complete_fields(*roots: object) -> None:
    """Give records of an older Cardinal the fields that have come since.

    Raises StateError for one without a default.
    """
    seen: set[int] = set()
    waiting: list[Any] = [*roots]
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, type | Enum):
            continue
        seen.add(id(each))
        if is_dataclass(each):
            for known in fields(each):
                if not hasattr(each, known.name):
                    object.__setattr__(each, known.name, _default(known, type(each).__name__))
                waiting.append(getattr(each, known.name))
        elif isinstance(each, Mapping):
            waiting += [*each.keys(), *each.values()]
        elif isinstance(each, list | tuple | set | frozenset | deque):
            waiting += each
        elif type(each).__module__.startswith("forge.store"):
            waiting += getattr(each, "__dict__", {}).values()


def _default(known: "Field[Any]", owner: str) -> Any:
    if known.default_factory is not MISSING:
        return known.default_factory()
    if known.default is MISSING:
        raise StateError(f"{owner} has no {known.name}: another version wrote it")
    return known.default


@dataclass(slots=True)
class SavedForge:
    """The file of the forge whose repositories are below `root`."""

    root: Path

    @property
    def _file(self) -> Path:
        return self.root / "state"

    def read(self) -> tuple[Store, World, dict[str, str]] | None:
        """Return what was written last, with all refs as they were then; None if nothing ever was.

        Raises StateError.
        """
        try:
            store, world, shared, refs = self.load()
            for repo in store.repos.all():
                git = store.repos.git(repo)
                known, now = refs[repo.full_name], git.refs()
                for ref in sorted({*known, *now}):
                    if known.get(ref) != now.get(ref):
                        git.run("update-ref", ref, known.get(ref, ZERO_SHA))
        except FileNotFoundError:
            return None
        except StateError:
            raise
        except Exception as error:  # a torn or foreign pickle raises whatever its bytes say
            raise StateError(f"{type(error).__name__}: {error}") from error
        return store, world, shared

    def load(self) -> Any:
        """Return store, world, what both sides have, and the refs. Raises whatever the file's bytes say."""
        store, world, shared, refs = _Reader(io.BytesIO(self._file.read_bytes())).load()
        store.root = self.root
        _complete(store, Store(self.root))
        _complete_fields(store, world)
        return store, world, shared, refs

    def write(self, store: Store, world: World, shared: Mapping[str, str]) -> None:
        """Write all, at once and whole, with what both sides have. The caller holds the store's lock."""
        store.deliveries.trim(KEPT_DELIVERIES)
        refs = {repo.full_name: store.repos.git(repo).refs() for repo in store.repos.all()}
        fresh = self._file.with_suffix(".new")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            pickle.dump((store, world, dict(shared), refs), file, pickle.HIGHEST_PROTOCOL)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._file)
