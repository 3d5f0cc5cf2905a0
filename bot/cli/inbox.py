"""`cardinal inbox`: what waits for a person."""

import click

from bot.cli import _desk
from bot.cli._show import json_option, show, table
from ledger.views import cards

HEADS = ("card", "state", "since", "run", "title", "why")


@click.command("inbox")
@json_option
def command(as_json: bool) -> None:
    """Print the cards that need a person.

    Questions first, then failures, finished work, requested changes, reviews, and what may be merged.
    """
    with _desk.reading() as db:
        found = cards.attention(db)
    rows = (
        (f"{card.repository}#{card.number}" if card.number else card.card_id, card.state, card.state_at,
         card.run_id, card.title, card.because)
        for card in found
    )  # fmt: skip
    show(found, as_json=as_json, text=lambda: table(HEADS, rows, empty="nothing waits for anybody"))
