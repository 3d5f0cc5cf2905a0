"""The options that filter cards, the same for every command that lists them."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

import click
from sqlalchemy import Connection

from bot.state import card_filters
from ledger.queries.card_filter import ALL, CardFilter, CardScope
from ledger.states import CardState
from ledger.views import boards

C = TypeVar("C", bound=Callable[..., Any])
HELP = {
    "state": "Only cards in this state, such as failed.",
    "repository": "Only cards for this owner/name: the issue's, or the one its newest run works in.",
    "person": "Only cards this person moved, requested work on, or is assigned to.",
    "label": "Only cards with this label.",
    "search": "Only cards with all these words in the title, or this issue number.",
}


def filter_options(command: C) -> C:
    """Add the filters to a command, as arguments of their names."""
    for field in reversed(card_filters.FIELDS):
        command = click.option(f"--{field}", help=HELP[field])(command)
    return command


def read(
    db: Connection, given: Mapping[str, str | None], states: Collection[CardState] = tuple(CardState)
) -> CardFilter:
    """Return the filter of a command's options, over all boards. Raises FilterError."""
    if not any(given.values()):
        return ALL
    scopes = [CardScope(board.board_id) for board in boards.all_boards(db)]
    return card_filters.read(given, card_filters.choices_of_state(db, scopes, given["state"]), states)
