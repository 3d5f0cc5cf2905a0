"""What outward acts left on GitHub: the id to edit next time, the digest of what is there; and what failed
for good.
"""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Index, Table

from ledger.db.rows import columns, keep, many, one, pick
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.publication import EntryGivenUp, EntryPublished
from ledger.fold import Fold
from ledger.ids import CardId, EntryKey


@dataclass(frozen=True, slots=True)
class RemoteRow:
    """An act carried out; `remote_id` is what GitHub calls its result, `digest` is of what was sent."""

    key: EntryKey
    card_id: CardId
    act: str
    remote_id: str
    digest: str
    at: datetime


@dataclass(frozen=True, slots=True)
class GivenUpRow:
    """An act that failed for good, and was not carried out since."""

    key: EntryKey
    card_id: CardId
    act: str
    because: str
    at: datetime


remotes = Table("view_remotes", VIEWS, *columns(RemoteRow, "key"), Index("view_remotes_card", "card_id"))
failures = Table(
    "view_remotes_given_up", VIEWS, *columns(GivenUpRow, "key"), Index("view_given_up_card", "card_id")
)
fold = Fold()


def get(db: Connection, key: EntryKey) -> RemoteRow | None:
    """Return what the act left behind; None when it was never carried out."""
    return one(db, RemoteRow, pick(RemoteRow, remotes).where(remotes.c.key == key))


def of_card(db: Connection, card_id: CardId) -> tuple[RemoteRow, ...]:
    """Return what was carried out about the card, the oldest first."""
    return many(
        db, RemoteRow, pick(RemoteRow, remotes).where(remotes.c.card_id == card_id).order_by(remotes.c.at)
    )


def given_up(db: Connection, card_id: CardId | None = None) -> tuple[GivenUpRow, ...]:
    """Return what failed for good, about the card or at all, the oldest first."""
    query = pick(GivenUpRow, failures).order_by(failures.c.at)
    return many(db, GivenUpRow, query if card_id is None else query.where(failures.c.card_id == card_id))


@fold.on(EntryPublished)
def _published(db: Connection, it: Recorded, event: EntryPublished) -> None:
    left = {"card_id": event.card_id, "act": event.act, "remote_id": event.remote_id, "digest": event.digest}
    keep(db, remotes, {"key": event.key}, {**left, "at": it.at})
    db.execute(failures.delete().where(failures.c.key == event.key))


@fold.on(EntryGivenUp)
def _given_up(db: Connection, it: Recorded, event: EntryGivenUp) -> None:
    why = {"card_id": event.card_id, "act": event.act, "because": event.because, "at": it.at}
    keep(db, failures, {"key": event.key}, why)
