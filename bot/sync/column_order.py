"""Order of the cards in a column, by which their runs start: read from GitHub once for many looks at cards.

A look leaves a mark, a lease that is over at once; the next tick has the columns with marks read.
"""

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


def mark(db: Connection, board_id: BoardId, column: str | None) -> None:
    """Have the column's order read if runs wait in it; the order decides which starts first."""
    if column is None or not policies.in_force(db, board_id).archetype(column).STARTS_RUNS:
        return
    if runs.queued(db, board_id, column, limit=1):
        leases.take(db, f"{PREFIX}{board_id}:{column}", PREFIX, ttl_s=0)


def is_due(db: Connection) -> bool:
    """Tell whether the order of a column is to be read."""
    return bool(leases.expired(db, PREFIX))


def read_due(services: Services) -> int:
    """Read the order of each column with a mark; return their count, 0 while another process does."""
    with event_store.writing(services.engine) as db:
        turn = leases.take(db, TURN, services.name, ttl_s=TURN_S)
        marks = leases.expired(db, PREFIX) if turn is not None else ()
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
    board_id, _, column = lease.name.removeprefix(PREFIX).partition(":")
    on = services.if_served(BoardId(board_id))
    order = github_board.read_column(on.hub, BoardId(board_id), column) if on else ()
    with event_store.writing(services.engine) as db:
        leases.release(db, lease)
        if on and order != cards.order_of(db, BoardId(board_id), column):
            reactor.append(db, ColumnRanked(BoardId(board_id), column, order), now=services.now())
