"""Modules, functions and scripts stay small enough to be read in one go."""

import ast
from collections.abc import Iterable, Iterator

from tests.house.source import ROOT, Source, sources, tracked

MODULE_LINES = 800  # `scripts/check` warns above 400: nothing is cut only to fit
FUNCTION_LINES = 60  # advice is 50
SCRIPT_LINES = 100  # advice is 80: nothing is folded only to fit


def long_modules(files: Iterable[Source]) -> Iterator[str]:
    for source in files:
        lines = len(source.text.splitlines())
        if lines > MODULE_LINES:
            yield f"{source.path}: {lines} lines"


def long_functions(files: Iterable[Source]) -> Iterator[str]:
    for source in files:
        for name, node in source.named():
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES and not isinstance(node, ast.ClassDef):
                yield f"{source.path}:{node.lineno} {name}: {lines} lines"


def test_no_module_is_longer_than_the_cap() -> None:
    assert list(long_modules(sources() + sources("tests"))) == []


def test_no_function_is_longer_than_the_cap() -> None:
    assert list(long_functions(sources() + sources("tests"))) == []


def test_every_script_is_short() -> None:
    scripts = [path for path in tracked() if path.startswith(("scripts/", ".ci/"))]
    lengths = {path: len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in scripts}
    assert {path: lines for path, lines in lengths.items() if lines >= SCRIPT_LINES} == {}


def test_the_size_tests_bite() -> None:
    long = "def walk():\n" + "    x = 1\n" * FUNCTION_LINES
    assert list(long_functions([Source("bot/a.py", long)])) == [
        f"bot/a.py:1 walk: {FUNCTION_LINES + 1} lines"
    ]
    assert list(long_functions([Source("bot/a.py", "class A:\n" + "    x = 1\n" * 2 * FUNCTION_LINES)])) == []
    assert list(long_modules([Source("bot/a.py", "x = 1\n" * 801)])) == ["bot/a.py: 801 lines"]
    assert list(long_modules([Source("bot/a.py", "x = 1\n" * 800)])) == []
