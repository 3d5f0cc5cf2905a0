"""A board's state and the policy in force on it: read once per event of the board, parsed once per text."""

import logging
from dataclasses import dataclass
from functools import cache, lru_cache

from sqlalchemy import Connection

from bot.state.policy_names import list_for_any_host
from ledger.events.policy import WorkflowFile
from ledger.ids import BoardId
from ledger.log import event_store
from ledger.queries import cards
from ledger.rows.losses import LossRow
from ledger.rows.stops import StopRow
from ledger.views import boards, losses, policies, stops
from ledger.views.policies import PolicyRow
from rules.errors import PolicyError
from rules.policy.model import Policy, default_policy, parse

MAX_BOARDS = 1000  # kept in memory
# The views that this is read from; their rows of a board change by its own events alone.
SOURCES = (boards, losses, policies, stops)
MAX_OTHERS = 8  # repositories: each of them costs a question about somebody's role there
log = logging.getLogger(__name__)


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


def in_force(db: Connection, board_id: BoardId) -> Policy:
    """Return the board's policy: the last good file, or the built-in six-column board without a file.

    If neither is known, or this version cannot read it, the policy has no columns: no card is served.
    """
    row = of_board(db, board_id).policy
    return of_text(row.text, row.workflows) if row is not None and row.digest else _nothing()


def is_known(db: Connection, board_id: BoardId) -> bool:
    """Tell whether a policy is in force that this version can read; before, no card is synced."""
    return bool(in_force(db, board_id).board.columns)


def is_readable(row: PolicyRow) -> bool:
    """Tell whether this version can read a policy that another version may have accepted."""
    return bool(of_text(row.text, row.workflows).board.columns)


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
def of_text(text: str, workflows: tuple[WorkflowFile, ...] = ()) -> Policy:
    """Return a policy that was in force; without columns where this version cannot read it."""
    if not text:
        return default_policy("")
    try:
        # The board's home and the names of agents were checked when it was loaded.
        return parse(text, home=None, installed=list_for_any_host(), workflows=workflows)
    except PolicyError as error:
        log.error("policy in force unreadable because=%s", error.problems[0])
        return _nothing()


@cache
def _nothing() -> Policy:
    built_in = default_policy("")
    return built_in.model_copy(update={"board": built_in.board.model_copy(update={"columns": {}})})
