"""`cardinal inbox`: cards that wait for a person."""

import click

from bot.cli import _home
from bot.cli._show import ago, json_option, show, table
from bot.system.clock import utc_now
from ledger.views import cards
from rules.text import state_word

HEADS = ("card", "state", "since", "run", "title", "why")


@click.command("inbox")
@json_option
def command(as_json: bool) -> None:
    """Print the cards that need a person.

    Questions first, then failures, finished work, requested changes, reviews, and pull requests to merge.
    """
    now = utc_now()
    with _home.reading() as db:
        waiting = cards.attention(db)
    rows = (
        (_home.name_of(card), state_word(card.state), ago(card.state_at, now), card.run_id, card.title,
         card.because)
        for card in waiting
    )  # fmt: skip
    show(waiting, as_json=as_json, text=lambda: table(HEADS, rows, empty="nothing waits for anybody"))
