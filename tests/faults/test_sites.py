"""No place that commits and no act of the outbox is left out unseen."""

import tomllib
from collections.abc import Mapping

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
    tests = {path for each in ELSEWHERE.values() for path in each.values()}
    assert [path for path in sorted(tests) if not (ROOT / path).is_file()] == []
