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

    WORD is as after `/cardinal`, TEXT follows it. It is recorded as the operator's, who has every role, and
    told on the card.

    A board takes `pause` and `resume` alone. A run that another one of its card has followed takes no word
    that would be about the later one.

    Exit codes: 0 it is recorded; 1 it is refused, or a later run came; 2 nothing is known by that name, or a
    board does not take the word.

    \b
    Examples:
      cardinal command acme/shop#4 answer 2
      cardinal command r12 redirect Use the old port
    """
    _operator.give(target, word, " ".join(text), as_json=as_json)
