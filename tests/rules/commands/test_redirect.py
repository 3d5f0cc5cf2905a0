"""`/cardinal redirect <text>`: the plan goes back with words, where one waits."""

import pytest

from ledger.states import RunState
from rules.inward import RedirectPlan, RequeueRun
from rules.snapshot import Snapshot
from tests.rules.commands.cases import obeyed, told
from tests.rules.scene import CARD, R1, card, ended, run


def test_it_sends_the_plan_back() -> None:
    snapshot = card(run=run(RunState.AWAITING_APPROVAL))
    assert obeyed("redirect", snapshot, "use SQLite") == (
        RedirectPlan(CARD, R1, "bob", "use SQLite"),
        RequeueRun(CARD, R1, "redirected"),
    )


@pytest.mark.parametrize(
    ("snapshot", "said"),
    [
        (card(run=run(RunState.WORKING)), "Write a plain comment: the agent reads it"),
        (card(run=ended()), "nothing to redirect"),
        (card(), "nothing to redirect"),
    ],
)
def test_where_no_plan_waits_it_says_what_would_work(snapshot: Snapshot, said: str) -> None:
    assert said in told("redirect", snapshot, "use SQLite")
