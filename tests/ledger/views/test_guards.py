"""What the guards found stands on the card's timeline, by file and rule."""

from sqlalchemy import Engine

from ledger.event import Zoom
from ledger.events.guard import GuardsJudged, Violation
from ledger.log import event_store
from ledger.queries import timeline
from tests.ledger.samples import CARD, RUN, board_seen, card_seen, later, run_queued


def test_what_the_guards_found_is_told_as_an_activity(ledger: Engine) -> None:
    violation = Violation(
        "secrets", "secrets: deny", "a.py", 3, "", "deny", "holds a token", "take it out", "m"
    )
    judged = GuardsJudged(RUN, "c" * 40, "b" * 40, "r", (violation,), 0, "d")
    clean = GuardsJudged(RUN, "e" * 40, "b" * 40, "r", (), 0, "d")
    early = GuardsJudged(RUN, "f" * 40, "b" * 40, "r", (violation,), 0, "d", "b" * 40, "rule secrets: deny")
    with event_store.writing(ledger) as db:
        for event in (board_seen(), card_seen(), run_queued(), judged, clean, early):
            event_store.append(db, event, at=later(event_store.last_seq(db)))
        told = [line.text for line in timeline.of_card(db, CARD, Zoom.ACTIVITY)]
        quiet = [line.text for line in timeline.of_card(db, CARD, Zoom.CONVERSATION)]
    assert "guards on cccccccccccc: deny: a.py:3 holds a token (rule secrets: deny)" in told
    assert "guards on eeeeeeeeeeee: nothing found" in told
    assert "early publication of ffffffffffff withheld: rule secrets: deny" in told
    assert not any("guards on" in line for line in quiet)
