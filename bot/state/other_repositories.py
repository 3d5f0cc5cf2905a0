"""Repositories that a board serves beside a card's own: those of its cards and of its policy's labels."""

from sqlalchemy import Connection

from bot.state import policies
from ledger.ids import BoardId
from ledger.queries import cards

MOST = 8  # each of them costs a question about somebody's role there


def beside(db: Connection, board_id: BoardId, owner: str, *own: str | None) -> tuple[str, ...]:
    """Return those at the board's owner, without the card's `own`, in the order of names."""
    policy = policies.in_force(db, board_id)
    named = (*policy.board.repositories.labels.values(), *cards.repositories_of(db, board_id))
    folded = {name.casefold(): name for name in sorted(named)}
    mine = {name.casefold() for name in own if name}
    here = (
        name
        for key, name in sorted(folded.items())
        if key not in mine and key.partition("/")[0] == owner.casefold()
    )
    return tuple(here)[:MOST]
