"""`cardinal resume`: let a stopped run, card, column or board go on."""

import click

from bot.cli import _operator
from bot.cli._show import json_option


@click.command("resume")
@click.argument("target")
@click.option("--column", metavar="NAME", help="Only this column of the board TARGET.")
@json_option
def command(target: str, column: str | None, as_json: bool) -> None:
    """Resume a stopped run, card, column or board.

    TARGET is as for `cardinal stop`. To answer a run's question, use `cardinal command`.

    \b
    Examples:
      cardinal resume acme/shop#4
      cardinal resume acme/1 --column "In Progress"
    """
    _operator.give(target, "resume", column=column, as_json=as_json)
