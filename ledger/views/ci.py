"""The checks of each card's pull request on GitHub, and the output of the red ones."""

from dataclasses import dataclass

from sqlalchemy import Connection, Index, Table, text

from ledger.db.rows import (
    all_rows,
    change,
    columns,
    drop,
    fields_for,
    find,
    insert,
    keep,
    list_rows,
    pick,
    value,
)
from ledger.db.statements import WHERE
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.branch import RunChosen
from ledger.events.pull import CheckFailure, ChecksAwaited, ChecksSettled, PullChanged, PullOpened
from ledger.events.run import BESIDE, BranchPushed, RunQueued
from ledger.fold import Fold
from ledger.ids import CardId
from ledger.rows.ci import CiRow
from ledger.views.cards import cards


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
    Index("view_ci_waiting", "since", info={WHERE: _WAITS}),
)
failures = Table("view_ci_failures", VIEWS, *columns(CheckFailureRow, "card_id", "name", long=("log",)))
fold = Fold()


def of_card(db: Connection, card_id: CardId) -> CiRow | None:
    """Return the state of the card's checks; None before the first."""
    return find(db, CiRow, ci, card_id=card_id)


def failures_of(db: Connection, card_id: CardId, head: str) -> tuple[CheckFailure, ...]:
    return list_rows(db, CheckFailure, failures, "name", card_id=card_id, head=head)


def list_awaited_checks(db: Connection) -> tuple[CiRow, ...]:
    """Return the cards whose checks are awaited, the longest waiting first."""
    return all_rows(db, CiRow, pick(CiRow, ci).where(_WAITS).order_by(ci.c.since))


@fold.on(PullOpened)
def _fold_pull_opened(db: Connection, recorded: Recorded, event: PullOpened) -> None:
    _await_checks_of(db, recorded, event.card_id, event.head)


@fold.on(BranchPushed)
def _fold_branch_pushed(db: Connection, recorded: Recorded, event: BranchPushed) -> None:
    mine = {"run_id": event.run_id, "pull_state": "open", "branch": event.branch}
    card_id = value(db, cards.c.card_id, **mine)
    if card_id is not None:
        _await_checks_of(db, recorded, CardId(card_id), event.head)


@fold.on(RunChosen)
def _fold_run_chosen(db: Connection, _recorded: Recorded, event: RunChosen) -> None:
    change(db, ci, {"card_id": event.card_id}, settled=True)


@fold.on(PullChanged)
def _fold_pull_changed(db: Connection, recorded: Recorded, event: PullChanged) -> None:
    known_ci = of_card(db, event.card_id)
    if event.state != "open":
        change(db, ci, {"card_id": event.card_id}, settled=True)
    elif known_ci is not None and known_ci.head != event.head:
        _await_checks_of(db, recorded, event.card_id, event.head)


def _await_checks_of(db: Connection, recorded: Recorded, card_id: CardId, head: str) -> None:
    """Await the checks of a new commit: their deliveries may be lost or early."""
    keep(db, ci, {"card_id": card_id}, {"head": head, "since": recorded.at, "settled": False, "pending": ()})


@fold.on(ChecksAwaited)
def _fold_checks_awaited(db: Connection, recorded: Recorded, event: ChecksAwaited) -> None:
    known_ci = of_card(db, event.card_id)
    since = (
        known_ci.since if known_ci and known_ci.head == event.head and not known_ci.settled else recorded.at
    )
    now = {"head": event.head, "since": since, "settled": False, "pending": event.pending}
    keep(db, ci, {"card_id": event.card_id}, now)


@fold.on(ChecksSettled)
def _fold_checks_settled(db: Connection, recorded: Recorded, event: ChecksSettled) -> None:
    now = {"head": event.head, "since": recorded.at, "settled": True, "pending": event.pending}
    keep(db, ci, {"card_id": event.card_id}, now)
    drop(db, failures, card_id=event.card_id)
    for failure in event.failures:
        drop(db, failures, card_id=event.card_id, name=failure.name)
        of_card_head = {"card_id": event.card_id, "head": event.head}
        insert(db, failures, {**of_card_head, **fields_for(failures, failure)})


@fold.on(RunQueued)
def _fold_run_queued(db: Connection, _recorded: Recorded, event: RunQueued) -> None:
    if event.kind == "repair":
        known_ci = of_card(db, event.card_id)
        if known_ci is not None:
            now = {"repaired": known_ci.head, "repairs": known_ci.repairs + 1}
            change(db, ci, {"card_id": event.card_id}, **now)
    elif event.kind not in BESIDE:
        change(db, ci, {"card_id": event.card_id}, repairs=0)
