"""`cardinal stop`: stop a run, a card, a column or a board, on this host and at once."""

import click

from bot.cli import _operator
from bot.cli._show import json_option


@click.command("stop")
@click.argument("target")
@click.option("--column", metavar="NAME", help="Only this column of the board TARGET.")
@click.option("--cancel", is_flag=True, help="End the card's run for good; its commits are kept.")
@json_option
def command(target: str, column: str | None, *, cancel: bool, as_json: bool) -> None:
    """Stop a run, a card, or every run of a column or a board.

    TARGET is a run, OWNER/REPOSITORY#NUMBER, or a board as OWNER/NUMBER. This is `/cardinal pause` or
    `cancel`, given by the operator: it does not ask GitHub and needs no token. `cardinal resume` undoes it.

    Stopping a column or a board also stops cards that arrive later. A column's name ignores case unless two
    columns differ only by case.

    Exit codes: 0 recorded; 1 refused, or no active run or card to stop; 2 no run, card, column or board of
    that name.

    \b
    Examples:
      cardinal stop r12 --cancel
      cardinal stop acme/shop#4
      cardinal stop acme/1 --column "In Progress"
      cardinal stop acme/1 --json
    """
    _operator.give(target, "cancel" if cancel else "pause", column=column, of_living=True, as_json=as_json)
