"""Results of outward acts on GitHub: the id for later edits, the digest of the text; and final failures."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Index, Table

from ledger.db.rows import columns, count, drop, find, list_rows, record, recorder, values
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.publication import EntryGivenUp, EntryPublished
from ledger.fold import Fold
from ledger.ids import CardId, EntryKey


@dataclass(frozen=True, slots=True)
class RemoteRow:
    """An act carried out; `remote_id` is GitHub's id of its result, `digest` that of the text sent."""

    key: EntryKey
    card_id: CardId
    act: str
    remote_id: str
    digest: str
    at: datetime


@dataclass(frozen=True, slots=True)
class GivenUpRow:
    """An act that failed for good, and was not carried out since; the rest as in EntryGivenUp."""

    key: EntryKey
    card_id: CardId
    act: str
    because: str
    payload: str
    declined: bool
    at: datetime


remotes = Table(
    "view_remotes",
    VIEWS,
    *columns(RemoteRow, "key"),
    Index("view_remotes_card", "card_id"),
    Index("view_remotes_result", "remote_id"),
)
failures = Table(
    "view_remotes_given_up", VIEWS, *columns(GivenUpRow, "key"), Index("view_given_up_card", "card_id")
)
fold = Fold()


def get(db: Connection, key: EntryKey) -> RemoteRow | None:
    """Return the act's result; None when it was never carried out."""
    return find(db, RemoteRow, remotes, key=key)


def find_given_up(db: Connection, key: EntryKey) -> GivenUpRow | None:
    """Return the act's failure; None where it did not fail for good, or was carried out since."""
    return find(db, GivenUpRow, failures, key=key)


def list_done(db: Connection, card_id: CardId, act: str) -> tuple[RemoteRow, ...]:
    """Return the results of all acts of that name for the card, the oldest first."""
    return list_rows(db, RemoteRow, remotes, "at", card_id=card_id, act=act)


def last_done_at(db: Connection, card_id: CardId, act: str) -> datetime | None:
    """Return when an act of that name was last carried out for the card; None if never."""
    row = find(db, RemoteRow, remotes, "-at", card_id=card_id, act=act)
    return row.at if row is not None else None


def cards_of(db: Connection, remote_id: str) -> frozenset[CardId]:
    """Return the cards whose acts had that result."""
    return frozenset(values(db, remotes.c.card_id, remote_id=remote_id))


def list_given_up(db: Connection, card_id: CardId | None = None) -> tuple[GivenUpRow, ...]:
    """Return the acts that failed for good and can be repeated, of the card or of all, the oldest first."""
    if card_id is None:
        return list_rows(db, GivenUpRow, failures, "at", declined=False)
    return list_rows(db, GivenUpRow, failures, "at", card_id=card_id, declined=False)


def count_given_up(db: Connection) -> int:
    """Return how many acts failed for good and can be repeated."""
    return count(db, failures, declined=False)


@fold.on(EntryPublished)
def _fold_entry_published(db: Connection, recorded: Recorded, event: EntryPublished) -> None:
    record(db, remotes, recorded)
    drop(db, failures, key=event.key)


fold.on(EntryGivenUp)(recorder(failures))
