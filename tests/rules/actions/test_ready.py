"""ready: the pull request leaves draft on entry."""

from ledger.events.board import CardMoved
from ledger.states import CardState
from rules.intents.outbound import MarkReady
from tests.rules.scene import CARD, asks, card, ended, kinds, only, pull

MOVED = CardMoved(CARD, "Review", "QA", by_cardinal=False)


def test_a_draft_is_made_ready() -> None:
    intents = asks(card("QA", CardState.IN_REVIEW, run=ended(), pull=pull(draft=True)), MOVED)
    assert only(intents, MarkReady).about.startswith("QA/on_entry/0@")


def test_what_is_no_open_draft_is_left_alone() -> None:
    for card_pull in (pull(), pull("merged", draft=True), None):
        assert "MarkReady" not in kinds(asks(card("QA", CardState.IN_REVIEW, pull=card_pull), MOVED))
