"""`cardinal inbox`: cards that wait for a person."""

import click

from bot.cli import _filters, _home
from bot.cli._show import ago, json_option, show, table
from bot.system.clock import utc_now
from ledger.queries import lanes
from ledger.queries.card_filter import CardScope
from ledger.states import ATTENTION, CardState
from ledger.views import boards
from rules.text import count, state_word

HEADS = ("card", "state", "since", "for", "run", "title", "why")


@click.command("inbox")
@_filters.filter_options
@json_option
def command(as_json: bool, **given: str | None) -> None:
    """Print the cards that need a person.

    Questions first, then failures, finished work, requested changes, reviews, and pull requests to merge.

    \b
    Examples:
      cardinal inbox
      cardinal inbox --repository acme/shop
    """
    now = utc_now()
    with _home.reading() as db:
        wanted = _filters.read(db, given, ATTENTION)
        scopes = [CardScope(board.board_id) for board in boards.all_boards(db)]
        waiting = lanes.waiting(db, scopes, wanted)
        by_column = lanes.counts(db, scopes, wanted)
    blocked = sum(by_state.get(CardState.BLOCKED, 0) for by_state in by_column.values())
    rows = (
        (_home.name_of(card), state_word(card.state), ago(card.state_at, now), ", ".join(card.people),
         card.run_id, card.title, card.because)
        for card in waiting
    )  # fmt: skip
    empty = "nothing waits for anybody"
    if blocked:
        empty = f"blocked: {count(blocked, 'card')}, `cardinal board --state blocked` says by what"
    show(waiting, as_json=as_json, text=lambda: table(HEADS, rows, empty=empty))
