"""Order of the cards in a column, by which their runs start: read from GitHub once for many looks at cards.

A look leaves a mark, a lease that is over at once; the next tick has the columns with marks read.
"""

from collections.abc import Collection

from sqlalchemy import Connection

from bot.bootstrap import Services
from bot.github.api import projects as github_board
from bot.reactor import reactor
from bot.state import policies
from ledger.events.board import ColumnRanked
from ledger.ids import BoardId
from ledger.log import event_store
from ledger.queries import cards
from ledger.queue import leases
from ledger.queue.leases import Lease
from ledger.views import runs

PREFIX, TURN = "rank:", "ranks"
TURN_S = 60  # of one process at a time: an older reading never overwrites a newer one


def mark_column(db: Connection, board_id: BoardId, column: str | None) -> None:
    """Have the column's order read if runs wait in it; the order decides which starts first."""
    if column is None or not policies.in_force(db, board_id).archetype(column).STARTS_RUNS:
        return
    if runs.list_queued(db, board_id, column, limit=1):
        leases.take(db, f"{PREFIX}{board_id}:{column}", PREFIX, ttl_s=0)


def is_due(db: Connection, paused: Collection[BoardId] = ()) -> bool:
    return bool(_due(db, paused))


def _due(db: Connection, paused: Collection[BoardId]) -> tuple[Lease, ...]:
    return tuple(lease for lease in leases.list_expired(db, PREFIX) if _place(lease)[0] not in paused)


def _place(mark: Lease) -> tuple[BoardId, str]:
    board_id, _, column = mark.name.removeprefix(PREFIX).partition(":")
    return BoardId(board_id), column


def read_due(services: Services, paused: Collection[BoardId] = ()) -> int:
    """Read the order of each column with a mark, but for those of paused boards.

    Return their count, 0 while another process does.
    """
    with event_store.writing(services.engine) as db:
        turn = leases.take(db, TURN, services.name, ttl_s=TURN_S)
        marks = _due(db, paused) if turn is not None else ()
    try:
        for lease in marks:
            _read(services, lease)
    finally:
        if turn is not None:
            with event_store.writing(services.engine) as db:
                leases.release(db, turn)
    return len(marks)


def _read(services: Services, lease: Lease) -> None:
    """Record the column's order where it is news; a mark that was set meanwhile stays."""
    board_id, column = _place(lease)
    on = services.if_served(board_id)
    order = github_board.read_column(on.hub, board_id, column) if on else ()
    with event_store.writing(services.engine) as db:
        leases.release(db, lease)
        if on and order != cards.order_of(db, board_id, column):
            reactor.append_and_react(db, ColumnRanked(board_id, column, order), now=services.now())
