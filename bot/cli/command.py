"""`cardinal command`: any command of a comment, given by the operator."""

import click

from bot.cli import _operator
from bot.cli._show import json_option


@click.command("command")
@click.argument("target")
@click.argument("word")
@click.argument("text", nargs=-1)
@json_option
def command(target: str, word: str, text: tuple[str, ...], as_json: bool) -> None:
    """Give a card or a run any command that a comment can give.

    WORD is as after `/cardinal`, TEXT follows it. It is recorded as the operator's, who has every
    role, and shown on the card.

    A board accepts only `pause` and `resume`. Commands to a superseded run are refused.

    Exit codes: 0 recorded; 1 refused, or the run was superseded; 2 no such card, run or board, or a command
    that a board does not accept.

    \b
    Examples:
      cardinal command acme/shop#4 answer 2
      cardinal command r12 redirect Use the old port
    """
    _operator.give(target, word, " ".join(text), as_json=as_json)
