"""Whether the planning assistant waits for a person, as the card's row says."""

import pytest
from sqlalchemy import Engine

from ledger.event import Event
from ledger.events.conversation import AssistantReplied, CommentReleased, PersonSaid
from ledger.log import event_store
from ledger.views import cards
from tests.ledger.samples import CARD, card_seen, later

ASKED = AssistantReplied(CARD, "Which port?", "", 7)


def said(comment_id: int, place: str = "issue", *, trusted: bool = True, command: bool = False) -> PersonSaid:
    return PersonSaid(CARD, comment_id, place, "bob", trusted, "8080", command=command)


@pytest.mark.parametrize(
    ("happened", "waits"),
    [
        ((said(7), ASKED), True),
        ((said(7), AssistantReplied(CARD, "Done means …", "The brief", 7)), False),
        ((said(7), ASKED, said(8)), False),
        ((said(7), ASKED, said(8, "pull")), False),
        ((said(7), ASKED, said(8, trusted=False)), True),
        ((said(7), ASKED, said(8, command=True)), True),
        ((said(7), ASKED, said(8, "review")), True),
        ((said(7), ASKED, said(8, trusted=False), CommentReleased(CARD, 8, "issue", "ann")), False),
        ((said(7), said(8), ASKED), False),  # more was said while it wrote: it answers that next
    ],
)
def test_it_waits_until_somebody_who_counts_has_written(
    ledger: Engine, happened: tuple[Event, ...], waits: bool
) -> None:
    with event_store.writing(ledger) as db:
        for number, event in enumerate((card_seen(column="Planning"), *happened)):
            event_store.append(db, event, at=later(number))
        card = cards.get(db, CARD)
    assert card is not None
    assert card.assistant_waits is waits
