"""`/cardinal cancel`: the run ends for good."""

import pytest

from ledger.events.run import RunStopAsked
from ledger.rows.limit_answers import Code
from ledger.states import RunState, StopKind
from rules.snapshot import Snapshot
from tests.rules.commands.cases import handled, told
from tests.rules.scene import LEAVING, QUESTION, R1, answer_to, card, ended, run

STOP = RunStopAsked(R1, StopKind.CANCEL, "bob", "/cardinal cancel")


@pytest.mark.parametrize("state", [state for state in RunState if state is not RunState.ENDED])
def test_it_stops_a_run_in_whatever_state_it_lives(state: RunState) -> None:
    assert handled("cancel", card(run=run(state))) == (STOP,)


def test_it_settles_the_question_about_leaving_but_not_the_agents() -> None:
    settled = answer_to(LEAVING, "Cancel the run", Code.CANCEL)
    assert handled("cancel", card(run=run(), questions=(LEAVING,), held_back="Review")) == (settled, STOP)
    assert handled("cancel", card(run=run(), questions=(QUESTION,))) == (STOP,)


@pytest.mark.parametrize(
    ("snapshot", "said"),
    [
        (card(), "nothing to cancel"),
        (card(run=ended()), "nothing to cancel"),
        (card(run=run(stop_asked=StopKind.CANCEL)), "r1 is already being cancelled"),
    ],
)
def test_where_nothing_runs_it_says_so(snapshot: Snapshot, said: str) -> None:
    assert said in told("cancel", snapshot)


def test_a_paused_run_can_be_cancelled() -> None:
    assert handled("cancel", card(run=run(RunState.PARKED, stop_asked=StopKind.PAUSE))) == (STOP,)
