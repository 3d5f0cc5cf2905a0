"""Which policy is in force on a board, as the ledger says."""

import logging
from functools import lru_cache

from sqlalchemy import Connection

from ledger.ids import BoardId
from ledger.states import Archetype
from ledger.views import policies
from rules.errors import PolicyError
from rules.policy import Policy, default_policy, parse

log = logging.getLogger(__name__)


def in_force(db: Connection, board_id: BoardId) -> Policy:
    """Return the board's policy: the last good file, or the built-in six-column board where there is none."""
    row = policies.current(db, board_id)
    return _parsed(row.text if row else "")


def is_readable(text: str) -> bool:
    """Tell whether this version can read a policy that was in force: another version may have taken it."""
    try:
        parse(text, home=None)
    except PolicyError:
        return not text
    return True


@lru_cache(maxsize=32)
def _parsed(text: str) -> Policy:
    try:
        # Whether the file is in the board's home was checked when it was loaded.
        return parse(text, home=None) if text else default_policy("")
    except PolicyError as error:
        log.error("policy in force unreadable because=%s", error.problems[0])
        return _idle()


def _idle() -> Policy:
    """Return the built-in board with no column in which anything is started, merged or deleted."""
    built_in = default_policy("")
    columns = {
        name: column.model_copy(update={"archetype": Archetype.INBOX, "on_entry": ()})
        for name, column in built_in.board.columns.items()
    }
    return built_in.model_copy(update={"board": built_in.board.model_copy(update={"columns": columns})})
