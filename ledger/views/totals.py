"""The dollars spent against each shared limit: one stored sum for each, so that no reader adds up."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime

from sqlalchemy import Connection, Table, select

from ledger.db.rows import change, columns
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.conversation import AssistantMetered
from ledger.events.run import UsageMetered
from ledger.fold import Fold
from ledger.ids import BoardId
from ledger.model.spend_limits import Limit
from ledger.views.cards import cards
from ledger.views.runs import runs


@dataclass(frozen=True, slots=True)
class TotalRow:
    """A sum in dollars; `day` is YYYY-MM-DD, or empty for a sum of all days."""

    board_id: BoardId
    day: str
    shared: str
    name: str
    usd: float


totals = Table("view_totals", VIEWS, *columns(TotalRow, "board_id", "day", "shared", "name"))
fold = Fold()


def of_board(
    db: Connection, board_id: BoardId, day: date, card_ids: Collection[str]
) -> dict[tuple[Limit, str], float]:
    """Return the dollars of the board, of everybody on `day` of UTC, and of these cards."""
    query = select(totals.c.shared, totals.c.name, totals.c.usd).where(totals.c.board_id == board_id)
    # One look for each: SQLite reads all sums of the board for a condition with an OR in it.
    looks = (
        totals.c.day == day.isoformat(),
        (totals.c.day == "") & (totals.c.shared == Limit.BOARD),
        (totals.c.day == "") & (totals.c.shared == Limit.CARD) & totals.c.name.in_(tuple(card_ids)),
    )
    rows = (row for look in looks for row in db.execute(query.where(look)))
    return {(Limit(shared), name): usd for shared, name, usd in rows}


@fold.on(UsageMetered)
def _metered(db: Connection, it: Recorded, event: UsageMetered) -> None:
    wanted = select(runs.c.board_id, runs.c.card_id, runs.c.column, runs.c.by)
    run = db.execute(wanted.where(runs.c.run_id == event.run_id)).first()
    if run is not None and event.usd:
        _add(db, run.board_id, run.card_id, run.column, run.by, it.at, event.usd)


@fold.on(AssistantMetered)
def _assistant_metered(db: Connection, it: Recorded, event: AssistantMetered) -> None:
    wanted = select(cards.c.board_id, cards.c.column)
    card = db.execute(wanted.where(cards.c.card_id == event.card_id)).first()
    if card is not None and event.usd:
        _add(db, card.board_id, event.card_id, card.column or "", "", it.at, event.usd)


def _add(
    db: Connection, board_id: str, card_id: str, column: str, person: str, at: datetime, usd: float
) -> None:
    day = at.astimezone(UTC).date().isoformat()
    sums = (
        ("", Limit.BOARD, ""),
        ("", Limit.CARD, card_id),
        (day, Limit.DAY, ""),
        (day, Limit.COLUMN, column),
        (day, Limit.PERSON, person),
    )
    for when, shared, name in sums:
        key = {"board_id": board_id, "day": when, "shared": str(shared), "name": name}
        if not change(db, totals, key, usd=totals.c.usd + usd):
            db.execute(totals.insert().values(**key, usd=usd))
