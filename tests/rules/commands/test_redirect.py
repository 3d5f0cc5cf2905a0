"""`/cardinal redirect <text>`: the plan goes back with words, where one waits."""

import pytest

from ledger.events.run import PlanRedirected, RunRequeued, RunSteered
from ledger.states import RunState
from rules.intents.outbound import Say
from rules.snapshot import Snapshot
from tests.rules.commands.cases import handled, told
from tests.rules.scene import R1, a_plan, card, ended, run


def test_it_sends_the_plan_back() -> None:
    snapshot = card(run=run(RunState.AWAITING_APPROVAL))
    assert handled("redirect", snapshot, "use SQLite") == (
        PlanRedirected(R1, 1, "bob", "use SQLite"),
        RunRequeued(R1, "redirected"),
    )


def test_an_agent_at_work_gets_the_words_and_the_person_reads_who_settled_the_plan() -> None:
    steer, said = handled("redirect", card(run=run(), plan=a_plan(by="alice")), "use SQLite")
    assert steer == RunSteered(R1, "bob", "use SQLite", 77)
    assert isinstance(said, Say)
    assert "`alice` settled plan 1. Its agent reads your words" in said.text


@pytest.mark.parametrize(
    ("snapshot", "said"),
    [
        (card(run=ended()), "nothing to redirect"),
        (card(), "nothing to redirect"),
        (
            card(run=run(RunState.QUEUED, session_id=""), plan=a_plan(by="alice")),
            "`alice` settled plan 1. Write a comment instead",
        ),
    ],
)
def test_where_no_plan_waits_it_says_what_would_work(snapshot: Snapshot, said: str) -> None:
    assert said in told("redirect", snapshot, "use SQLite")
