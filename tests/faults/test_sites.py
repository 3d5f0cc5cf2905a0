"""No place that commits and no act of the outbox is left out unseen."""

import ast
import tomllib
from collections.abc import Iterator, Mapping

from tests.faults import record, sites
from tests.house.source import ROOT

ELSEWHERE: Mapping[str, Mapping[str, str]] = tomllib.loads(
    (ROOT / "tests/faults/elsewhere.toml").read_text(encoding="utf-8")
)


def test_every_site_that_commits_and_every_act_is_reached_by_a_story_or_hurt_elsewhere() -> None:
    """The record is what the stories reach: `test_cells` compares the two."""
    committed, acts = sites.reached(point for each in record.read()["points"].values() for point in each)
    commits = {*sites.commits()}
    assert commits - committed == {*ELSEWHERE["commits"]}
    assert sites.acts() - acts == {*ELSEWHERE["acts"]}


def test_what_is_hurt_elsewhere_names_a_test() -> None:
    named = {test for each in ELSEWHERE.values() for test in each.values()}
    there = {test for path in {it.partition("::")[0] for it in named} for test in list_tests(path)}
    assert named - there == set()


def list_tests(path: str) -> Iterator[str]:
    """Yield the names by which pytest knows the tests of a file."""
    file = ROOT / path
    tree = ast.parse(file.read_text(encoding="utf-8")) if file.is_file() else ast.Module([], [])
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield f"{path}::{node.name}"
