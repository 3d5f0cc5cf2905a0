"""What an agent says of other cards stands on its own card's timeline."""

from sqlalchemy import Engine

from ledger import book
from ledger.events.related import CardLinked, CardProposed
from ledger.views import timeline
from tests.ledger.samples import CARD, RUN, board_seen, card_seen, later, run_queued


def test_proposed_and_linked_cards_are_told_in_the_conversation(ledger: Engine) -> None:
    proposed = CardProposed(RUN, 1, "Mend the till", "It is slow.", "seen on the way")
    linked = CardLinked(RUN, "acme/shop#7", "blocks", "it needs this one")
    with book.writing(ledger) as db:
        for event in (board_seen(), card_seen(), run_queued(), proposed, linked):
            book.append(db, event, at=later(book.last_seq(db)))
        told = [line.text for line in timeline.of_card(db, CARD, timeline.Zoom.CONVERSATION)]
    assert "wants a new card: Mend the till (seen on the way)" in told
    assert "this card blocks acme/shop#7: it needs this one" in told
