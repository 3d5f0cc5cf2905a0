"""Who follows which card: every notice about it reaches them."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Delete, Table

from ledger.db.rows import columns, drop, find, keep, rename_key, values
from ledger.db.statements import statement
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.board import CardReplaced
from ledger.events.run import RunQueued
from ledger.events.subscription import CardSubscribed, CardUnsubscribed
from ledger.fold import Fold
from ledger.ids import CardId, RunId


@dataclass(frozen=True, slots=True)
class SubscriptionRow:
    """One subscription; `name` is the login in small letters, `run_id` as in CardSubscribed."""

    card_id: CardId
    name: str
    run_id: RunId


subscriptions = Table("view_subscriptions", VIEWS, *columns(SubscriptionRow, "card_id", "name"))
fold = Fold()


def subscribers_of(db: Connection, card_id: CardId) -> frozenset[str]:
    """Return who follows the card, in small letters."""
    return frozenset(values(db, subscriptions.c.name, card_id=card_id))


def get(db: Connection, card_id: CardId, login: str) -> SubscriptionRow | None:
    return find(db, SubscriptionRow, subscriptions, card_id=card_id, name=login.casefold())


@fold.on(CardSubscribed)
def _fold_card_subscribed(db: Connection, _recorded: Recorded, event: CardSubscribed) -> None:
    key = {"card_id": event.card_id, "name": event.login.casefold()}
    keep(db, subscriptions, key, {"run_id": event.run_id})


@fold.on(CardUnsubscribed)
def _fold_card_unsubscribed(db: Connection, _recorded: Recorded, event: CardUnsubscribed) -> None:
    drop(db, subscriptions, card_id=event.card_id, name=event.login.casefold())


@fold.on(CardReplaced)
def _fold_card_replaced(db: Connection, _recorded: Recorded, event: CardReplaced) -> None:
    rename_key(db, subscriptions, "card_id", event.draft, event.card_id)


@fold.on(RunQueued)
def _fold_run_queued(db: Connection, _recorded: Recorded, event: RunQueued) -> None:
    _drop_of_runs.run(db, {"card_id": event.card_id})


@statement
def _drop_of_runs(card_id: Any) -> Delete:
    return subscriptions.delete().where(subscriptions.c.card_id == card_id, subscriptions.c.run_id != "")
