"""What stands still on a board, for whom, and since when."""

from datetime import timedelta

from sqlalchemy import Engine

from ledger.events.board import WorkStalled
from ledger.events.run import RunClaimed, RunParked, RunStepped
from ledger.ids import RunId
from ledger.log import event_store
from ledger.queries import standstill
from ledger.queries.card_filter import CardScope
from ledger.queries.standstill import NO_STEP_AFTER, UNANSWERED_AFTER, StandstillKind
from ledger.states import CardState, RunState
from tests.ledger.queries.test_card_filter import card, run
from tests.ledger.samples import BOARD, NOW, board_seen


def test_runs_that_nobody_moves_are_found_in_what_a_reader_may_see(ledger: Engine) -> None:
    silent, parked = RunId("r2"), RunId("r3")
    with event_store.writing(ledger) as db:
        event_store.append(
            db,
            board_seen(),
            card("a", 1, "Waits", CardState.QUEUED),
            card("b", 2, "Works", CardState.WORKING),
            card("c", 3, "Asks", CardState.NEEDS_INPUT, repository="acme/secret"),
            run("r1", "a", "acme/shop", by="ann"),
            run("r2", "b", "acme/shop", by="ann"),
            run("r3", "c", "acme/secret", by="ann"),
            RunClaimed(silent, 1, "w"),
            RunStepped(silent, RunState.CLAIMED, RunState.PREPARING),
            RunClaimed(parked, 1, "w"),
            RunParked(parked, "question"),
            WorkStalled(BOARD, 1),
            at=NOW,
        )
    seen = CardScope(BOARD, frozenset({"acme/shop"}), drafts=False)
    late = NOW + max(NO_STEP_AFTER, UNANSWERED_AFTER) + timedelta(seconds=1)
    with event_store.reading(ledger) as db:
        sorts = {it.kind: it.run_id for it in standstill.of_board(db, CardScope(BOARD), late, 9)}
        for_readers = {it.kind for it in standstill.of_board(db, seen, late, 9)}
        at_once = standstill.of_board(db, CardScope(BOARD), NOW, 9)
    assert sorts == {
        StandstillKind.NO_WORKER: "r1",
        StandstillKind.NO_STEP: "r2",
        StandstillKind.UNANSWERED: "r3",
    }
    assert for_readers == {StandstillKind.NO_WORKER, StandstillKind.NO_STEP}
    assert at_once == ()
