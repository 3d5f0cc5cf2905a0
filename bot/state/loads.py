"""What a board's runs use now, in the shape of the rules about the queue."""

from collections import Counter
from collections.abc import Collection
from datetime import date

from sqlalchemy import Connection

from bot.state import budgets, snapshots
from ledger.events.run import CHECK
from ledger.ids import BoardId, CardId
from ledger.views import runs, spend
from rules.runs.queue import Load


def of_board(db: Connection, board_id: BoardId, day: date, card_ids: Collection[CardId] = ()) -> Load:
    """Return what is in use on `day` of UTC, with the dollars of these cards."""
    held = runs.held(db, board_id)
    agents = [run for run in held if run.kind != CHECK]
    return Load(
        len(agents),
        Counter(run.repository for run in agents),
        Counter(run.column for run in agents),
        spend.shared(db, board_id, day, card_ids),
        budgets.reserved(db, board_id),
        halt=snapshots.halt_of(db, board_id),
        checks=len(held) - len(agents),
    )
