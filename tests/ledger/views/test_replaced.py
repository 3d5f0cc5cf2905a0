"""A draft whose issue has another card's id: all that was known of the draft is that card's."""

from sqlalchemy import Engine, select

from ledger.events import board, conversation
from ledger.events.subscription import CardSubscribed
from ledger.ids import CardId, RunId
from ledger.lifecycle import rebuild
from ledger.log import event_store
from ledger.model.spend_limits import Limit
from ledger.states import CardState
from ledger.views import cards, rule_briefs, spend, stops, subscriptions, waits
from tests.ledger.samples import BOARD, CARD, NOW, board_seen, card_seen
from tests.ledger.views.test_story import told

NEW = CardId("PVTI_9")
REPLACED = board.CardReplaced(NEW, CARD, "I_9", "acme/shop", 9)


def known(engine: Engine, card_id: CardId) -> dict[str, object]:
    with event_store.reading(engine) as db:
        card = cards.get(db, card_id)
        return {
            "card": card and (card.repository, card.number, card.content_id, card.state, card.created_at),
            "dollars": spend.of_card(db, card_id).usd,
            "limit": spend.sum_by_limit(db, BOARD, NOW.date(), (card_id,)).get((Limit.CARD, card_id)),
            "briefs": [row.text for row in rule_briefs.newest(db, card_id, 5)],
            "lift": stops.lift_of(db, BOARD, "card", card_id) is not None,
            "followers": subscriptions.subscribers_of(db, card_id),
            "waits": [*db.scalars(select(waits.waits.c.waits_for).where(waits.waits.c.card_id == card_id))],
        }


def test_everything_of_the_draft_is_the_new_cards_also_after_a_rebuild(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        told(
            db,
            board_seen(),
            card_seen(),
            board.CardStateChanged(CARD, CardState.DRAFT, CardState.NEEDS_INPUT, "a question"),
            board.StopOrdered(BOARD, "card", CARD, "alice"),
            board.StopLifted(BOARD, "card", CARD, "alice"),
            CardSubscribed(CARD, "Bob", RunId("")),
            conversation.AssistantMetered(CARD, 0.25, 100),
            conversation.TaskAnswered(CARD, "Tasks/on_entry/0", "Small.", brief="It is small."),
        )
    before = known(ledger, CARD)
    assert all(before.values())
    with event_store.writing(ledger) as db:
        told(db, REPLACED)
    after = known(ledger, NEW)
    seen = before["card"]
    assert isinstance(seen, tuple)
    assert after == {**before, "card": ("acme/shop", 9, "I_9", *seen[3:])}
    assert not any(known(ledger, CARD).values())
    rebuild.rebuild(ledger)
    assert known(ledger, NEW) == after
