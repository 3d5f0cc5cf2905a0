"""The policy in force on a board, read from the ledger and parsed once per text."""

import logging
from functools import cache, lru_cache

from sqlalchemy import Connection

from bot.state import board_state
from bot.state.policy_names import list_installed
from ledger.ids import BoardId
from ledger.queries import cards
from rules.errors import PolicyError
from rules.policy.model import Policy, default_policy, parse

MAX_OTHERS = 8  # repositories: each of them costs a question about somebody's role there
log = logging.getLogger(__name__)


def in_force(db: Connection, board_id: BoardId) -> Policy:
    """Return the board's policy: the last good file, or the built-in six-column board without a file.

    If neither is known, or this version cannot read it, the policy has no columns: no card is served.
    """
    row = board_state.of_board(db, board_id).policy
    return _parse(row.text) if row is not None and row.digest else _nothing()


def of_text(text: str) -> Policy:
    """Return a policy that was in force; without columns where this version cannot read it."""
    return _parse(text)


def is_known(db: Connection, board_id: BoardId) -> bool:
    """Tell whether a policy is in force that this version can read; before, no card is synced."""
    return bool(in_force(db, board_id).board.columns)


def is_readable(text: str) -> bool:
    """Tell whether this version can read a policy that another version may have accepted."""
    return bool(of_text(text).board.columns)


def other_repositories(db: Connection, board_id: BoardId, owner: str, *own: str | None) -> tuple[str, ...]:
    """Return those at the board's owner, of its cards and labels, without the card's `own`; by name."""
    policy = in_force(db, board_id)
    named = (*policy.board.repositories.labels.values(), *cards.repositories_of(db, board_id))
    folded = {name.casefold(): name for name in sorted(named)}
    mine = {name.casefold() for name in own if name}
    here = (
        name
        for key, name in sorted(folded.items())
        if key not in mine and key.partition("/")[0] == owner.casefold()
    )
    return tuple(here)[:MAX_OTHERS]


@lru_cache(maxsize=32)
def _parse(text: str) -> Policy:
    try:
        # The file's place, the board's home, was checked when it was loaded.
        return parse(text, home=None, installed=list_installed()) if text else default_policy("")
    except PolicyError as error:
        log.error("policy in force unreadable because=%s", error.problems[0])
        return _nothing()


@cache
def _nothing() -> Policy:
    built_in = default_policy("")
    return built_in.model_copy(update={"board": built_in.board.model_copy(update={"columns": {}})})
