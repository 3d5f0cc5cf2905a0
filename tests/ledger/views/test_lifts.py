"""Who let go on what was paused or stopped."""

from sqlalchemy import Engine

from ledger.events import board, run
from ledger.log import event_store
from ledger.views import stops
from tests.ledger.samples import BOARD, CARD, RUN, card_seen, run_queued
from tests.ledger.views.test_story import told


def test_who_let_something_go_on_is_known_where_it_was_a_person(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        told(db, card_seen(), run_queued(), board.StopLifted(BOARD, "column", "Done", "ann"))
        told(db, board.HaltLifted(BOARD, "provider", "Cardinal"))
        told(db, run.RunParked(RUN, "pause"), run.RunRequeued(RUN, "answered"))
        lifts = (
            stops.lift_of(db, BOARD, *of) for of in (("column", "Done"), ("board", BOARD), ("card", CARD))
        )
        assert [lift.by if lift else "" for lift in lifts] == ["ann", "", ""]
        told(db, run.RunParked(RUN, "pause"), run.RunRequeued(RUN, "resumed", by="bo"))
        told(db, board.HaltLifted(BOARD, "provider", "ann"))
        lifts = (stops.lift_of(db, BOARD, *of) for of in (("board", BOARD), ("card", CARD)))
        assert [lift.by if lift else "" for lift in lifts] == ["ann", "bo"]
