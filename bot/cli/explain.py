"""`cardinal explain`: why a card does or does not move."""

from datetime import UTC, datetime

import click

from bot.cli import _home
from bot.cli._show import json_option, line, show
from bot.state import policies, snapshots
from rules.explain import why


@click.command("explain")
@click.argument("card", metavar="OWNER/REPOSITORY#NUMBER")
@json_option
def command(card: str, as_json: bool) -> None:
    """Say why a card does or does not move.

    One line, with who has to do what.
    """
    with _home.reading() as db:
        row = _home.card(db, card)
        snapshot = snapshots.of_card(db, row.card_id)
        if snapshot is None:
            raise _home.UnknownCardError(card)
        because = why(policies.in_force(db, row.board_id), snapshot, datetime.now(UTC))
    found = {"card": card, "column": row.column, "state": row.state, "because": because}
    show(found, as_json=as_json, text=lambda: (_told(because),))


def _told(because: str) -> str:
    away = _home.absence()
    return line(f"{away}. When it last ran: {because}" if away else because)
