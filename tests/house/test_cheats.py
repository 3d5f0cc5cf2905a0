"""Every cheat of the catalogue has tests that are there, and every test of the suite of cheats is in it."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from docs._make.cheats import catalogue
from tests.house.source import ROOT

# They say that honest work passes: no cheats.
HONEST = {
    "test_honest_work_on_tests_is_not_asked_about",
    "test_three_tests_that_become_one_with_parameters_are_asked_about_and_told_as_that",
    "test_an_agent_that_repairs_the_code_instead_delivers",
    "test_a_renamed_and_a_moved_test_pass_and_so_does_a_commit_on_the_way",
    "test_ordinary_work_on_a_project_is_not_asked_about",
    "test_a_commit_on_the_way_is_not_what_is_checked",
}


def tried() -> list[str]:
    """Return the tests that the catalogue names, each as FILE::FUNCTION."""
    return [test for family in catalogue().values() for cheat in family for test in cheat["tests"]]


def functions_of(path: Path) -> set[str]:
    """Return the names of the tests in a file; none where there is no file."""
    if not path.exists():
        return set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def absent(tests: Iterable[str]) -> Iterator[str]:
    """Yield the tests that are not in the file where the catalogue says they are."""
    for test in tests:
        path, _, name = test.partition("::")
        if name not in functions_of(ROOT / path):
            yield test


def test_every_cheat_names_tests_that_are_there() -> None:
    cheats = [cheat for family in catalogue().values() for cheat in family]
    assert len(cheats) > 30
    assert [cheat for cheat in cheats if not cheat["tests"]] == []
    assert list(absent(tried())) == []


def test_every_test_of_the_suite_is_in_the_catalogue() -> None:
    there = {test for path in (ROOT / "tests/cheats").glob("test_*.py") for test in functions_of(path)}
    assert there - {test.partition("::")[2] for test in tried()} == HONEST


def test_the_tests_of_cheats_bite() -> None:
    wrong = ["tests/house/test_cheats.py::test_gone", "tests/house/none.py::test_a"]
    assert list(absent(wrong)) == wrong
