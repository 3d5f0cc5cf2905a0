"""`cardinal explain`: why a card does or does not move."""

import click

from bot.cli import _home
from bot.cli._names import UnlistedNameError
from bot.cli._show import clean, json_option, show
from bot.state import policies, snapshots
from rules.explain import why

READS = True


@click.command("explain")
@click.argument("card", metavar="OWNER/REPOSITORY#NUMBER")
@json_option
def command(card: str, as_json: bool) -> None:
    """Say why a card is moving or waiting.

    One line: the next step and who takes it.

    \b
    Example:
      cardinal explain acme/shop#12
    """
    with _home.open_for_reading() as db:
        row = _home.find_card(db, card)
        snapshot = snapshots.of_card(db, row.card_id)
        if snapshot is None:
            raise UnlistedNameError("card", card)
        policy = policies.in_force(db, row.board_id)
        because = why(policy, snapshots.with_place(db, snapshot))
    result = {"card": card, "column": row.column, "state": row.state, "because": because}

    def text() -> tuple[str]:
        away = _home.absence()
        return (clean(f"{away}. Status when it last ran: {because}" if away else because),)

    show(result, as_json=as_json, text=text)
