"""Every cheat has a test that is there, and every test of the suite of cheats is in the table."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.house.source import ROOT

PAGE = ROOT / "docs/cheats.md"
NAMED = re.compile(r"\[(?P<test>test_\w+)\]\(\.\./(?P<path>tests/[\w/]+\.py)\)")
# They say that honest work passes: no cheats.
HONEST = {
    "test_honest_work_on_tests_is_not_asked_about",
    "test_three_tests_that_become_one_with_parameters_are_asked_about_and_told_as_that",
    "test_an_agent_that_repairs_the_code_instead_delivers",
    "test_a_renamed_and_a_moved_test_pass_and_so_does_a_commit_on_the_way",
    "test_ordinary_work_on_a_project_is_not_asked_about",
    "test_a_commit_on_the_way_is_not_what_is_checked",
}


def named(text: str) -> set[tuple[str, str]]:
    """Return the tests that a page names, each with its file."""
    return {(found["path"], found["test"]) for found in NAMED.finditer(text)}


def functions_of(path: Path) -> set[str]:
    """Return the names of the tests in a file; none where there is no file."""
    if not path.exists():
        return set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def absent(found: set[tuple[str, str]]) -> Iterator[str]:
    """Yield the tests that are not in the file where the page says they are."""
    yield from sorted(f"{path}: {test}" for path, test in found if test not in functions_of(ROOT / path))


def test_every_cheat_names_tests_that_are_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert list(absent(named(text))) == []
    rows = [
        row for row in text.splitlines() if row.startswith("| ") and not row.startswith(("| cheat", "| ---"))
    ]
    assert len(rows) > 30
    assert [row for row in rows if not NAMED.search(row)] == []


def test_every_test_of_the_suite_is_in_the_table() -> None:
    there = {test for path in (ROOT / "tests/cheats").glob("test_*.py") for test in functions_of(path)}
    assert there - {test for _, test in named(PAGE.read_text(encoding="utf-8"))} == HONEST


def test_the_tests_of_cheats_bite() -> None:
    page = "| a | b | [test_gone](../tests/house/test_cheats.py), [test_a](../tests/house/none.py) |"
    assert list(absent(named(page))) == [
        "tests/house/none.py: test_a",
        "tests/house/test_cheats.py: test_gone",
    ]
