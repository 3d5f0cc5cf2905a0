"""The bench measures every part, says of each goal whether it is met; CI plays all at their smallest size."""

import pytest

from tests.bench import record
from tests.bench.__main__ import ON_REQUEST, PARTS
from tests.bench.figures import Figure
from tests.house.source import ROOT


@pytest.mark.parametrize(
    ("figure", "goal", "met"),
    [
        (Figure("a", 3, "ms", 3), "at most 3 ms", True),
        (Figure("a", 3.1, "ms", 3), "at most 3 ms", False),
        (Figure("a", 1000, "/s", least=1000), "at least 1000 /s", True),
        (Figure("a", 999, "/s", least=1000), "at least 1000 /s", False),
        (Figure("a", 0, "lost", 0), "at most 0 lost", True),
        (Figure("a", 5, "MB"), "", None),
    ],
)
def test_a_goal_is_an_upper_or_a_lower_bound(figure: Figure, goal: str, met: bool | None) -> None:
    assert (figure.goal, figure.met) == (goal, met)
    assert figure.to_json().get("goal", "") == goal


def test_a_figure_is_set_against_the_raw_limit_of_its_run() -> None:
    slow = Figure("a", 30, "ms", raw="r").to_json(Figure("r", 10, "ms"))
    rare = Figure("b", 250, "deliveries/s", least=1_000, raw="r").to_json(Figure("r", 1_000, "requests/s"))
    assert (slow["raw"], slow["times_raw"], rare["times_raw"], rare["met"]) == ("r", 3.0, 4.0, False)
    assert "times_raw" not in Figure("a", 30, "ms", raw="r").to_json()


def test_a_figure_or_a_goal_that_the_page_lacks_is_named() -> None:
    def names(*figures: Figure) -> list[str]:
        return [line.split()[4] for line in record.strangers(figures)]

    assert names(Figure("deliveries_accepted", 1, "deliveries/s", least=1_000)) == []
    assert names(Figure("deliveries_accepted", 1, "deliveries/s")) == ["deliveries_accepted"]
    assert names(Figure("gateways_3_pss", 90, "MB", 90), Figure("sweep_share_quiet_50", 1, "%", 2)) == []
    assert names(Figure("gateways_50_pss", 90, "MB", 90), Figure("new_7", 1, "s")) == [
        "gateways_50_pss",
        "new_7",
    ]


def test_every_part_is_measured_and_ci_plays_all_of_them() -> None:
    measuring = {
        path.stem
        for path in ROOT.glob("tests/bench/*.py")
        if "\ndef measure(" in path.read_text(encoding="utf-8")
    }
    assert measuring == {measure.__module__.rpartition(".")[2] for measure in (PARTS | ON_REQUEST).values()}
    assert "scripts/bench --quick" in (ROOT / ".ci/run").read_text(encoding="utf-8")
