"""Organisations and repositories out of reach, and why."""

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, drop, list_rows, recorder
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.access import AccessLost, AccessRegained
from ledger.fold import Fold
from ledger.ids import BoardId
from ledger.rows.losses import LossRow

losses = Table("view_losses", VIEWS, *columns(LossRow, "board_id", "target"))
fold = Fold()


def of_board(db: Connection, board_id: BoardId) -> tuple[LossRow, ...]:
    """Return the board's losses, the oldest first."""
    return list_rows(db, LossRow, losses, "at", board_id=board_id)


fold.on(AccessLost)(recorder(losses))


@fold.on(AccessRegained)
def _fold_access_regained(db: Connection, _recorded: Recorded, event: AccessRegained) -> None:
    drop(db, losses, board_id=event.board_id, target=event.target)
