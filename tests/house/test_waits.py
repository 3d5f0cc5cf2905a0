"""A test waits for a busy machine: whoever gives something up sooner than after a minute fails there.

Less than five seconds are no limit but a moment in which nothing shall happen.
"""

import ast
import re
from collections.abc import Iterable, Iterator

from tests.house.source import Source, sources

MOMENT_S, PATIENCE_S = 5, 60
NUMBER = re.compile(r"(timeout=|\.(wait|join|communicate)\()\d")  # parsing all of them takes a second
WAITS = ("wait", "join", "communicate")
ELSEWHERE = ("tests/bench/", "tests/escape/")  # measurements, and a program that tries to break out


def hasty(files: Iterable[Source]) -> Iterator[str]:
    for source in files:
        if source.path.startswith(ELSEWHERE) or not NUMBER.search(source.text):
            continue
        for node in source.nodes():
            if isinstance(node, ast.Call):
                given = [word.value for word in node.keywords if word.arg == "timeout"]
                given += (
                    node.args[:1] if isinstance(node.func, ast.Attribute) and node.func.attr in WAITS else []
                )
                limits = (limit.value for limit in given if isinstance(limit, ast.Constant))
                if any(isinstance(it, int | float) and MOMENT_S <= it < PATIENCE_S for it in limits):
                    yield f"{source.path}:{node.lineno}"


def test_no_test_gives_up_before_a_busy_machine_is_done() -> None:
    assert list(hasty(sources("tests"))) == []


def test_hasty_waits_are_seen() -> None:
    text = "get(url, timeout=10)\nchild.wait(59.9)\nchild.wait(60)\nquiet.wait(0.5)\n', '.join(words)\n"
    assert list(hasty([Source("tests/a.py", text)])) == ["tests/a.py:1", "tests/a.py:2"]
