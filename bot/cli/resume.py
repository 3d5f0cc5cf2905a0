"""`cardinal resume`: let a stopped run, card, column or board go on."""

import click

from bot.cli import _operator
from bot.cli._show import json_option


@click.command("resume")
@click.argument("target")
@click.option("--column", metavar="NAME", help="Only this column of the board TARGET.")
@json_option
def command(target: str, column: str | None, as_json: bool) -> None:
    """Let a stopped run, card, column or board go on.

    TARGET is as for `cardinal stop`. A run that waits for an answer gets it by `cardinal command`.

    \b
    Examples:
      cardinal resume acme/shop#4
      cardinal resume acme/1 --column "In Progress"
    """
    _operator.give(target, "resume", column=column, as_json=as_json)
