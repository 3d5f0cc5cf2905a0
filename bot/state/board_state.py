"""A board's stops, losses, owner and policy: read again once something happened to the board."""

from dataclasses import dataclass

from sqlalchemy import Connection

from ledger.ids import BoardId
from ledger.log import event_store
from ledger.rows.losses import LossRow
from ledger.rows.stops import StopRow
from ledger.views import boards, losses, policies, stops
from ledger.views.policies import PolicyRow

MAX_BOARDS = 1000  # kept in memory
# The views that this is read from; their rows of a board change by its own events alone.
SOURCES = (boards, losses, policies, stops)


@dataclass(frozen=True, slots=True)
class BoardState:
    """Facts about a board that the rules for each of its cards need; `policy` as the file has it."""

    stops: tuple[StopRow, ...]
    losses: tuple[LossRow, ...]
    owner: str
    policy: PolicyRow | None


# By board, with the digest of its newest event. That covers the whole log before it: what was read in a
# transaction that is undone is never taken for what happened instead.
_known: dict[BoardId, tuple[str, BoardState]] = {}


def of_board(db: Connection, board_id: BoardId) -> BoardState:
    """Return the board's state at this moment."""
    newest = event_store.stream_digest(db, f"board:{board_id}")
    known = _known.get(board_id)
    if known is not None and known[0] == newest:
        return known[1]
    state = _read(db, board_id)
    if newest:
        if len(_known) >= MAX_BOARDS:
            _known.clear()
        _known[board_id] = (newest, state)
    return state


def _read(db: Connection, board_id: BoardId) -> BoardState:
    return BoardState(
        stops.of_board(db, board_id),
        losses.of_board(db, board_id),
        boards.owner_of(db, board_id),
        policies.current(db, board_id),
    )
