"""How the checks of each card's pull request stand on GitHub, and what the red ones said."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Index, Table, select, text

from ledger.db.rows import columns, keep, many, one, pick, where
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.pull import ChecksAwaited, ChecksSettled, PullChanged, PullOpened
from ledger.events.run import CHECK, BranchPushed, RunQueued
from ledger.fold import Fold
from ledger.ids import CardId
from ledger.views.cards import cards


@dataclass(frozen=True, slots=True)
class CiRow:
    """The checks of the commit `head`, waited for since `since` unless `settled`; `pending` is empty while
    nobody has looked.

    `repaired` is the commit for which the newest repair was queued, `repairs` counts those without another
    run between.
    """

    card_id: CardId
    head: str
    since: datetime
    settled: bool
    pending: tuple[str, ...]
    repaired: str
    repairs: int


@dataclass(frozen=True, slots=True)
class CheckFailureRow:
    """A red check of the commit `head`."""

    card_id: CardId
    name: str
    head: str
    url: str
    log: str
    on_base: bool


_WAITS = text("NOT settled")
ci = Table(
    "view_ci",
    VIEWS,
    *columns(CiRow, "card_id"),
    Index("view_ci_waiting", "since", sqlite_where=_WAITS, postgresql_where=_WAITS),
)
failures = Table("view_ci_failures", VIEWS, *columns(CheckFailureRow, "card_id", "name", long=("log",)))
fold = Fold()
_FRESH = {"repaired": "", "repairs": 0}


def of_card(db: Connection, card_id: CardId) -> CiRow | None:
    """Return how the card's checks stand; None before any was heard of."""
    return one(db, CiRow, pick(CiRow, ci).where(ci.c.card_id == card_id))


def failures_of(db: Connection, card_id: CardId, head: str) -> tuple[CheckFailureRow, ...]:
    """Return the red checks of that commit by name."""
    mine = (failures.c.card_id == card_id) & (failures.c.head == head)
    return many(db, CheckFailureRow, pick(CheckFailureRow, failures).where(mine).order_by(failures.c.name))


def waiting(db: Connection) -> tuple[CiRow, ...]:
    """Return the cards whose checks are waited for, the longest waiting first."""
    return many(db, CiRow, pick(CiRow, ci).where(_WAITS).order_by(ci.c.since))


@fold.on(PullOpened)
def _opened(db: Connection, it: Recorded, event: PullOpened) -> None:
    _moved(db, it, event.card_id, event.head)


@fold.on(BranchPushed)
def _pushed(db: Connection, it: Recorded, event: BranchPushed) -> None:
    mine = (cards.c.run_id == event.run_id) & (cards.c.pull_state == "open")
    card_id = db.scalar(select(cards.c.card_id).where(mine, cards.c.branch == event.branch))
    if card_id is not None:
        _moved(db, it, CardId(card_id), event.head)


@fold.on(PullChanged)
def _changed(db: Connection, it: Recorded, event: PullChanged) -> None:
    known = of_card(db, event.card_id)
    if event.state != "open":
        db.execute(ci.update().where(ci.c.card_id == event.card_id).values(settled=True))
    elif known is not None and known.head != event.head:
        _moved(db, it, event.card_id, event.head)


def _moved(db: Connection, it: Recorded, card_id: CardId, head: str) -> None:
    """Wait for the checks of a commit that nobody has looked at: their deliveries may be lost or early."""
    kept = {} if of_card(db, card_id) else _FRESH
    now = {"head": head, "since": it.at, "settled": False, "pending": ()}
    keep(db, ci, {"card_id": card_id}, {**now, **kept})


@fold.on(ChecksAwaited)
def _awaited(db: Connection, it: Recorded, event: ChecksAwaited) -> None:
    known = of_card(db, event.card_id)
    since = known.since if known and known.head == event.head and not known.settled else it.at
    kept = {} if known else _FRESH
    now = {"head": event.head, "since": since, "settled": False, "pending": event.pending}
    keep(db, ci, {"card_id": event.card_id}, {**now, **kept})


@fold.on(ChecksSettled)
def _settled(db: Connection, it: Recorded, event: ChecksSettled) -> None:
    kept = {} if of_card(db, event.card_id) else _FRESH
    now = {"head": event.head, "since": it.at, "settled": True, "pending": event.pending}
    keep(db, ci, {"card_id": event.card_id}, {**now, **kept})
    db.execute(failures.delete().where(failures.c.card_id == event.card_id))
    for failure in event.failures:
        told = {"head": event.head, "url": failure.url, "log": failure.log, "on_base": failure.on_base}
        keep(db, failures, {"card_id": event.card_id, "name": failure.name}, told)


@fold.on(RunQueued)
def _queued(db: Connection, _it: Recorded, event: RunQueued) -> None:
    mine = where(ci, {"card_id": event.card_id})
    if event.kind == "repair":
        db.execute(ci.update().where(mine).values(repaired=ci.c.head, repairs=ci.c.repairs + 1))
    elif event.kind != CHECK:
        db.execute(ci.update().where(mine).values(repairs=0))
