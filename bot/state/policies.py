"""Which policy is in force on a board, as the ledger says."""

import logging
from functools import cache, lru_cache

from sqlalchemy import Connection

from ledger.ids import BoardId
from ledger.views import policies
from rules.errors import PolicyError
from rules.policy.model import Policy, default_policy, parse

log = logging.getLogger(__name__)


def in_force(db: Connection, board_id: BoardId) -> Policy:
    """Return the board's policy: the last good file, or the built-in six-column board where there is no file.

    Where neither is known, or this version cannot read it, the policy has no columns: nobody is served.
    """
    row = policies.current(db, board_id)
    return _parsed(row.text) if row is not None and row.digest else _nothing()


def is_known(db: Connection, board_id: BoardId) -> bool:
    """Tell whether a policy is in force that this version can read: before, no card is looked at."""
    return bool(in_force(db, board_id).board.columns)


def is_readable(text: str) -> bool:
    """Tell whether this version can read a policy that was in force: another version may have taken it."""
    return bool(_parsed(text).board.columns)


@lru_cache(maxsize=32)
def _parsed(text: str) -> Policy:
    try:
        # Whether the file is in the board's home was checked when it was loaded.
        return parse(text, home=None) if text else default_policy("")
    except PolicyError as error:
        log.error("policy in force unreadable because=%s", error.problems[0])
        return _nothing()


@cache
def _nothing() -> Policy:
    built_in = default_policy("")
    return built_in.model_copy(update={"board": built_in.board.model_copy(update={"columns": {}})})
