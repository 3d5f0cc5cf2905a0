"""What was played in a browser, in ledger/events/reproduction.py and its view."""

from sqlalchemy import Engine

from ledger.event import Zoom
from ledger.events.reproduction import (
    AFTER,
    BEFORE,
    FAILED,
    PASSED,
    ReproductionPlayed,
    ReproductionSkipped,
)
from ledger.ids import CardId, RunId
from ledger.log import event_store
from ledger.queries import timeline
from ledger.views import reproductions, runs
from tests.ledger.samples import CARD, NOW, RUN, board_seen, card_seen, run_queued

RUN_ID = RunId(RUN)


def test_what_was_played_and_why_nothing_was_is_told_in_its_order(ledger: Engine) -> None:
    steps = ("open /", 'expect "x"')
    before = ReproductionPlayed(
        RUN_ID, BEFORE, "c0", "i", FAILED, steps, 2, "no x", ("e",), 3, ("trace",), 1.0
    )
    after = ReproductionPlayed(RUN_ID, AFTER, "c1", "i", PASSED, steps, 0, "", (), 0, (), 1.0)
    skipped = ReproductionSkipped(RunId("r2"), "Paste this.")
    with event_store.writing(ledger) as db:
        events = board_seen(), card_seen(), run_queued(), before, after, run_queued("r2", attempt=2), skipped
        event_store.append(db, *events, at=NOW)
    with event_store.reading(ledger) as db:
        first, second = reproductions.of_run(db, RUN_ID)
        (third,) = reproductions.of_run(db, RunId("r2"))
        lines = [row.text for row in timeline.of_card(db, CardId(CARD), Zoom.ACTIVITY, 50)]
        queued = runs.get(db, RUN_ID)
    assert (first.phase, first.outcome, first.step, first.said, first.steps) == (
        BEFORE, FAILED, 2, "no x", steps,
    )  # fmt: skip
    assert (first.error_count, first.kept) == (3, ("trace",))
    assert (second.phase, second.outcome, second.head) == (AFTER, PASSED, "c1")
    assert (third.phase, third.outcome, third.said) == ("", "", "Paste this.")
    assert "in a browser before the work: failed at step 2 of 2: no x" in lines
    assert "nothing is played in a browser: Paste this." in lines
    assert queued is not None
    assert queued.reproduces is False
