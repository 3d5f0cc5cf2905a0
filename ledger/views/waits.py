"""The waits of each card: from when to when it waited for people, for a worker, or for an agent at work."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection, Index, Table

from ledger.db.rows import change, columns, insert, rename_key
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.board import CardArchived, CardReplaced, CardSeen, CardStateChanged
from ledger.fold import Fold
from ledger.ids import CardId
from ledger.states import ATTENTION, CardState, Reason


class WaitsFor(StrEnum):
    """For whom a card waits."""

    PEOPLE = "people"
    WORKER = "worker"
    AGENT = "agent"


OF_STATE: Mapping[CardState, WaitsFor] = {
    **dict.fromkeys(ATTENTION, WaitsFor.PEOPLE),
    CardState.QUEUED: WaitsFor.WORKER,
    CardState.WORKING: WaitsFor.AGENT,
    CardState.REVISING: WaitsFor.AGENT,
}
OPEN = 1e12  # the end of a wait that goes on: a time that never comes, so that an index finds it


@dataclass(frozen=True, slots=True)
class WaitRow:
    """A card's wait since the event `seq`, in seconds since 1970; `ended_s` is OPEN while it goes on."""

    card_id: CardId
    seq: int
    began_s: float
    ended_s: float
    waits_for: WaitsFor


waits = Table("view_waits", VIEWS, *columns(WaitRow, "card_id", "seq"), Index("view_waits_ended", "ended_s"))
fold = Fold()


@fold.on(CardSeen)
def _fold_card_seen(db: Connection, recorded: Recorded, event: CardSeen) -> None:
    if event.arrived:
        _begin(db, recorded, event.card_id, event.state)


@fold.on(CardStateChanged)
def _fold_card_state_changed(db: Connection, recorded: Recorded, event: CardStateChanged) -> None:
    _begin(db, recorded, event.card_id, event.after, claimed=event.reason is Reason.BLOCKED)


@fold.on(CardArchived)
def _fold_card_archived(db: Connection, recorded: Recorded, event: CardArchived) -> None:
    _end(db, recorded, event.card_id)


@fold.on(CardReplaced)
def _fold_card_replaced(db: Connection, _recorded: Recorded, event: CardReplaced) -> None:
    rename_key(db, waits, "card_id", event.draft, event.card_id)


def _begin(
    db: Connection, recorded: Recorded, card_id: CardId, state: CardState, *, claimed: bool = False
) -> None:
    """Begin the wait of a card in the state; `claimed`: a person works on it, so it waits for nobody."""
    _end(db, recorded, card_id)
    if state in OF_STATE and not claimed:
        began = {"card_id": card_id, "seq": recorded.seq, "began_s": recorded.at.timestamp()}
        insert(db, waits, {**began, "ended_s": OPEN, "waits_for": OF_STATE[state]})


def _end(db: Connection, recorded: Recorded, card_id: CardId) -> None:
    change(db, waits, {"card_id": card_id, "ended_s": OPEN}, ended_s=recorded.at.timestamp())
