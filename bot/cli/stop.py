"""`cardinal stop`: stop a run, a card, a column or a board, on this host and at once."""

import click

from bot.cli import _operator
from bot.cli._show import json_option


@click.command("stop")
@click.argument("target")
@click.option("--column", metavar="NAME", help="Only this column of the board TARGET.")
@click.option("--cancel", is_flag=True, help="End the run of a card for good; its commits are kept.")
@json_option
def command(target: str, column: str | None, *, cancel: bool, as_json: bool) -> None:
    """Stop a run, a card, or every run of a column or a board.

    TARGET is a run, OWNER/REPOSITORY#NUMBER, or a board as OWNER/NUMBER. It is `/cardinal pause` or `cancel`,
    given by the operator: without a question to GitHub, and without a token. `cardinal resume` continues it.

    A stop of a column or a board holds for cards that come later, too; case makes no difference in a column's
    name where only one is called so.

    Exit codes: 0 it is recorded; 1 it is refused, or no run or card is alive that could be stopped; 2 nothing
    is known by that name.

    \b
    Examples:
      cardinal stop r12 --cancel
      cardinal stop acme/shop#4
      cardinal stop acme/1 --column "In Progress"
      cardinal stop acme/1 --json
    """
    _operator.give(target, "cancel" if cancel else "pause", column=column, of_living=True, as_json=as_json)
