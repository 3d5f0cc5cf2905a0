"""`cardinal explain`: why a card does or does not move."""

import click

from bot.cli import _home
from bot.cli._show import clean, json_option, show
from bot.web.api.operations import explain
from ledger.log import event_store

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
    with _home.open_request() as request:
        with event_store.reading(request.site.engine) as db:
            row = _home.find_card(db, card)
        answer = explain.explain_card(request, row)

    def text() -> tuple[str]:
        away = _home.absence()
        return (clean(f"{away}. Status when it last ran: {answer.why}" if away else answer.why),)

    show(answer.model_dump(mode="json"), as_json=as_json, text=text)
