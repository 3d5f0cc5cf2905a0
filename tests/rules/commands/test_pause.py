"""`/cardinal pause`: the run parks; a card, a column or the board is stopped."""

import pytest

from ledger.events.board import StopOrdered
from ledger.events.run import RunStopAsked
from ledger.states import RUN_HELD, RunState, StopKind
from rules.snapshot import Snapshot
from tests.rules.commands.cases import handled, told
from tests.rules.scene import BOARD, CARD, QUESTION, R1, a_stop, card, ended, run


@pytest.mark.parametrize("state", RUN_HELD)
def test_it_parks_a_run_that_a_worker_holds(state: RunState) -> None:
    assert handled("pause", card(run=run(state))) == (
        RunStopAsked(R1, StopKind.PAUSE, "bob", "/cardinal pause"),
    )


@pytest.mark.parametrize(
    "snapshot",
    [
        card(),
        card(run=ended()),
        card(run=run(RunState.QUEUED)),
        card(run=run(RunState.AWAITING_APPROVAL)),
        card(run=run(RunState.PARKED), questions=(QUESTION,)),
    ],
)
def test_a_card_whose_run_nobody_holds_is_stopped_itself(snapshot: Snapshot) -> None:
    assert handled("pause", snapshot) == (StopOrdered(BOARD, "card", CARD, "bob"),)


@pytest.mark.parametrize(("scope", "target"), [("column", "In Progress"), ("Board", BOARD)])
def test_a_column_or_the_board_is_stopped(scope: str, target: str) -> None:
    assert handled("pause", card(run=run()), scope) == (StopOrdered(BOARD, scope.lower(), target, "bob"),)


@pytest.mark.parametrize(
    ("snapshot", "scope", "said"),
    [
        (card(run=run(stop_asked=StopKind.PAUSE)), "", "is already being stopped"),
        (
            card(run=run(RunState.PARKED, stop_asked=StopKind.PAUSE)),
            "",
            "r1 is already paused. `/cardinal resume`",
        ),
        (card(stops=(a_stop("card", CARD, "al"),)), "", "already stopped. `/cardinal resume` resumes"),
        (
            card(stops=(a_stop("card", CARD, "al", because="later"),)),
            "",
            "already stopped. `/cardinal unblock` resumes",
        ),
        (card(stops=(a_stop("board", BOARD, "al"),)), "board", "`/cardinal resume board` resumes"),
        (card(), "everything", "say `/cardinal pause [column|board]`"),
    ],
)
def test_where_it_is_paused_already_it_says_so(snapshot: Snapshot, scope: str, said: str) -> None:
    assert said in told("pause", snapshot, scope)
