"""Slash commands as verbs: `cardinal approve r4` is `cardinal command r4 approve`."""

import re

import click

from bot.cli._show import json_option
from rules.registry import COMMANDS

HELP = """{about}

It is `/cardinal {name}`, given by the operator, as `cardinal command` gives it. TARGET is a run or
OWNER/REPOSITORY#NUMBER.

\b
Example:
  cardinal {example}"""
TAKES = {"none": None, "text": True, "optional": False, "optional text": False}  # whether a text is required


def verb(name: str) -> click.Command:
    """Return the command that gives the slash command of that name."""
    part = COMMANDS.load(name)
    about = " ".join((part.__doc__ or "").split())
    help_text = HELP.format(about=about, name=name, example=example(name, part.USAGE))

    @click.command(name, help=help_text, short_help=re.split("[,:;.]", about)[0] + ".")
    @click.argument("target")
    @json_option
    def command(target: str, as_json: bool, text: tuple[str, ...] = ()) -> None:
        from bot.cli import _operator  # help does not wait for it

        _operator.give(target, name, " ".join(text), as_json=as_json)

    required = TAKES[part.TAKES]
    if required is not None:
        command.params.insert(1, click.Argument(["text"], nargs=-1, required=required))
    return command


def example(name: str, usage: str) -> str:
    """Return the usage with the shortest of its texts, in capitals, for a card."""
    text = usage.removeprefix(f"/cardinal {name}").partition("[")[0].partition("|")[0].strip()
    words = text.replace(" ", "-").replace("<", "").replace(">", "").upper()
    return f"{name} acme/shop#4 {words}".rstrip()
