"""The rules of the forge, each of which can be taken out; then a test must fail that reaches it.

A rule is a statement that refuses something, or that does more than was asked: it tells Apps, or changes
something else, as GitHub does by itself. Tests are played once as they are, and once without each rule that
they reach.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from tests.faults import record
from tests.house.source import ROOT, sources

ROOMS = ("forge/git/", "forge/graphql/", "forge/rest/", "forge/store/", "forge/web/git_http.py")
NOT = "forge/store/faults.py"  # which a test asks for, and GitHub has none of
# What is done beyond what was asked: something else changes, or is told.
EFFECT = re.compile(r"self\.(store\.(?!nodes)|_?announce|_emit)")
LIMIT_S = 8  # a test that waits for what never comes has failed
QUICK_S = 2.5  # so long may a test take as it is: what is slow anyway says nothing by its limit
MAX_TRIES = 12  # tests that reach a rule, until nobody is said to notice it
MAX_CHARACTERS = 110


def keys_of(path: str, tree: ast.Module) -> dict[ast.stmt, str]:
    """Return the rules of a module with their keys; those that read the same in one function are counted."""
    times: Counter[str] = Counter()
    keys: dict[ast.stmt, str] = {}
    for name, statement in _statements(tree, ""):
        if not isinstance(statement, ast.Raise | ast.Expr) or _passes_on(statement):
            continue
        text = " ".join(ast.unparse(statement).split())[:MAX_CHARACTERS]
        if isinstance(statement, ast.Raise) or EFFECT.match(text):
            key = f"{path.removesuffix('.py')}.{name}: {text}"
            times[key] += 1
            keys[statement] = key if times[key] == 1 else f"{key} #{times[key]}"
    return keys


def _passes_on(statement: ast.stmt) -> bool:
    """Tell whether it only raises again what was caught: whoever raised that is the rule."""
    if not isinstance(statement, ast.Raise):
        return False
    raised = statement.exc
    return raised is None or (isinstance(raised, ast.Name) and raised.id.islower())


def _statements(node: ast.AST, name: str) -> Iterator[tuple[str, ast.stmt]]:
    for child in ast.iter_child_nodes(node):
        inner = name
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            inner = f"{name}.{child.name}".lstrip(".")
        if isinstance(child, ast.stmt):
            yield name, child
        yield from _statements(child, inner)


@cache
def every() -> tuple[str, ...]:
    """Return the keys of all rules, in the order of files."""
    found = (it for it in sources("forge") if it.path.startswith(ROOMS) and it.path != NOT)
    return tuple(key for source in found for key in keys_of(source.path, source.tree).values())


@dataclass(slots=True)
class Watch:
    """Which rules were reached, and the one that is taken out."""

    reached: dict[str, None] = field(default_factory=dict)
    out: str = ""

    def applies(self, key: str) -> bool:
        """Tell whether the rule is there; each asks before it does anything."""
        self.reached[key] = None
        return key != self.out


WATCH = Watch()


class _Asking(ast.NodeTransformer):
    """Lets each rule ask before."""

    def __init__(self, keys: Mapping[ast.stmt, str]) -> None:
        self._keys = keys

    def visit(self, node: ast.AST) -> Any:
        self.generic_visit(node)
        if not isinstance(node, ast.stmt) or node not in self._keys:
            return node
        asked = ast.Call(ast.Name("_applies", ast.Load()), [ast.Constant(self._keys[node])], [])
        return ast.fix_missing_locations(ast.copy_location(ast.If(asked, [node], []), node))


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        source = self.get_data(self.path)
        tree = ast.parse(source)
        keys = keys_of(self.path.removeprefix(f"{ROOT}/"), tree)
        code: CodeType = compile(_Asking(keys).visit(tree), self.path, "exec", dont_inherit=True)
        return code

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["_applies"] = WATCH.applies
        super().exec_module(module)


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None or not spec.origin.startswith(_PLACES):
            return None
        spec.loader = _Loader(fullname, spec.origin)
        return spec


_PLACES = tuple(f"{ROOT}/{room}" for room in ROOMS)


@dataclass(slots=True)
class Sweep:
    """Plays each test as it is, and without each rule that it reaches and nobody missed so far."""

    left: dict[str, int]  # how many tests are tried yet
    tellers: dict[str, str]  # by the rule, the only test that is tried, where one is known
    told: dict[str, str] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave only tests that may tell; of a case that has another name by now, every case of its test."""
        there = {item.nodeid for item in items}
        for key, test in self.tellers.items():
            if test not in there:
                self.tellers[key] = test.partition("[")[0]
        starts = tuple({*self.tellers.values()}) or ("",)
        items[:] = [item for item in items if item.nodeid.startswith(starts)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Stand in for a test's usual course; its module's fixtures last until all is tried."""
        WATCH.reached.clear()
        took_s, is_red = _run(item)
        if took_s > QUICK_S and not is_red:  # the first test of a process opens the world of all others
            took_s, is_red = _run(item)
        if is_red:
            self.failed.append(item.nodeid)
        elif took_s <= QUICK_S:
            for key in [key for key in WATCH.reached if self.left.get(key)]:
                if item.nodeid.startswith(self.tellers.get(key, "")):
                    self._try(item, key)
        item.session._setupstate.teardown_exact(nextitem)
        if not any(self.left.values()):
            item.session.shouldstop = "every rule is missed, or was tried often enough"
        return True

    def _try(self, item: pytest.Item, key: str) -> None:
        WATCH.out = key
        self.left[key] -= 1
        try:
            _, is_red = _run(item)
        finally:
            WATCH.out = ""
        if is_red:  # because of the rule, unless the machine is busy
            took_s, is_sick = _run(item)
            is_red = took_s <= QUICK_S and not is_sick
        if is_red:
            self.told[key], self.left[key] = item.nodeid, 0
            print(f"{key}\n    {item.nodeid}", flush=True)


def _run(item: pytest.Item) -> tuple[float, bool]:
    """Run the test; return how long it took, and whether it failed."""
    around: object = item.parent  # what the next one has in common with it: only its own fixtures end
    reports = runtestprotocol(item, log=False, nextitem=around)  # type: ignore[arg-type]
    return sum(report.duration for report in reports), any(report.failed for report in reports)


def sweep(paths: Sequence[str]) -> int:
    """Take out one rule at a time, and record which test tells; exit 1 where none does.

    Without paths, the tests of the record are played, and nothing is recorded.
    """
    known: dict[str, str] = {key: test for key, test in record.read().get("forge", {}).items() if test}
    due = [key for key in every() if not paths or key not in known]
    sys.meta_path.insert(0, _Finder())
    plugin = Sweep(dict.fromkeys(due, MAX_TRIES), {} if paths else dict(known))
    # What a test leaves open that failed is nobody's fault.
    words = ("-q", f"--timeout={LIMIT_S}", "-p", "no:unraisableexception", "-p", "no:threadexception")
    pytest.main(
        [*words, *(paths or sorted({test.partition("[")[0] for test in known.values()}))], plugins=[plugin]
    )
    told = {key: plugin.told.get(key) or ("" if key in due else known[key]) for key in every()}
    if paths:
        record.write(forge=told)
    unnoticed = [key for key, test in told.items() if not test and (paths or key in known)]
    print(
        *(f"red as it is: {test}" for test in plugin.failed),
        *map("nobody notices {}".format, unnoticed),
        sep="\n",
    )
    print(f"{len(told)} rules, {len(unnoticed)} that nobody notices")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(sweep(sys.argv[1:]))
