"""Who follows a card: by any spelling of a login, until they say so, or until the next run."""

from dataclasses import replace

from sqlalchemy import Engine

from ledger.events.subscription import CardSubscribed, CardUnsubscribed
from ledger.ids import CardId, RunId
from ledger.log import event_store
from ledger.views import subscriptions
from tests.ledger.samples import CARD, NOW, RUN, run_queued

OTHER = CardId("PVTI_2")


def test_a_subscription_to_a_run_ends_with_the_cards_next_one_and_no_other(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        follow = CardSubscribed(CARD, "Bob", RunId(""))
        of_run = CardSubscribed(CARD, "ann", RUN)
        event_store.append(db, follow, of_run, replace(of_run, card_id=OTHER), at=NOW)
        assert subscriptions.subscribers_of(db, CARD) == {"bob", "ann"}
        event_store.append(db, replace(run_queued(), run_id=RunId("r2")), at=NOW)
        assert (subscriptions.subscribers_of(db, CARD), subscriptions.subscribers_of(db, OTHER)) == (
            frozenset(("bob",)),
            frozenset(("ann",)),
        )
        event_store.append(db, CardSubscribed(CARD, "BOB", RunId("r2")), at=NOW)
        event_store.append(db, CardUnsubscribed(CARD, "bob", ""), at=NOW)
        assert subscriptions.subscribers_of(db, CARD) == frozenset()
