"""Mismatches between a board's columns and its policy, as sentences for the board, not for every card."""

from collections.abc import Iterator

from sqlalchemy import Connection

from bot.state import policies
from ledger.ids import BoardId
from ledger.model.column_names import column_key
from ledger.views import boards, runs
from rules.policy import locations
from rules.policy.model import Policy
from rules.text import code, count

FILE = f"`{locations.PATH}`"


def troubles(db: Connection, board_id: BoardId) -> Iterator[str]:
    """Yield each change that makes cards wait, with their count and the remedy."""
    lost = boards.find_lost_status(db, board_id)
    if lost is not None:
        happened = f"is called {code(lost)} now" if lost else "is gone"
        step = f"rename {code(lost)} back" if lost else "make a single-select field Status with the columns"
        yield f"The board's field Status {happened}, so no card's column can be read: {step}"
    board, policy = boards.get(db, board_id), policies.in_force(db, board_id)
    there = {column.name for column in board.columns} if board else set[str]()
    for name, became in boards.former_columns(db, board_id).items():
        if policy.column(name) is None or policy.column(became) is not None:
            continue  # it was not served, or the policy has its new name
        if became in there:
            step = f"write {code(became)} for {code(name)} in {FILE}, or rename it back"
            happened = f"is called {code(became)} now, which the policy does not name"
        else:
            step = f"make it again and drag its cards there, or take it out of {FILE}"
            happened = "was deleted"
        yield f"The column {code(name)} {happened}{_waiting(db, board_id, became or name)}: {step}"


def unknown_to_board(db: Connection, board_id: BoardId) -> tuple[str, ...]:
    """Return the columns of the policy in force that the board does not have."""
    return absent_columns(db, board_id, policies.in_force(db, board_id))


def absent_columns(db: Connection, board_id: BoardId, policy: Policy) -> tuple[str, ...]:
    """Return the policy's columns that the board does not have."""
    board = boards.get(db, board_id)
    there = {column_key(column.name) for column in board.columns} if board else set[str]()
    return tuple(name for name in policy.board.columns if board and column_key(name) not in there)


def unknown_to_policy(db: Connection, board_id: BoardId) -> tuple[str, ...]:
    """Return the board's columns that the policy does not name."""
    board, policy = boards.get(db, board_id), policies.in_force(db, board_id)
    shown = board.columns if board else ()
    return tuple(column.name for column in shown if policy.column(column.name) is None)


def _waiting(db: Connection, board_id: BoardId, column: str) -> str:
    """Return the count of queued runs that wait for the column; the board's readers may not read each."""
    queued = len(runs.list_queued(db, board_id, column))
    return (
        f"; {count(queued, 'queued run')} {'is' if queued == 1 else 'are'} waiting for it" if queued else ""
    )
