"""`cardinal export`: the board of `cardinal try` as one file."""

from pathlib import Path

import click

from bot.admin.trial import carried, trial
from bot.cli._show import clone_option


@click.command("export")
@click.argument("file", type=click.Path(path_type=Path))
@clone_option("A folder of the repository.")
def command(file: Path, folder: Path) -> None:
    """Write the board of `cardinal try` into FILE.

    It contains cards, comments, runs, events, artifacts and branches; not keys, tokens, .cardinal/env or an
    agent's uncommitted work. Stop the board first.

    For a home of `cardinal up`, use `cardinal backup`.

    \b
    Examples:
      cardinal export my-board.cardinal
    """
    size = carried.pack_board(trial.find(folder, ""), file)
    click.echo(f"{file}: {size / 1e6:.1f} MB. Not in it: keys, tokens, .cardinal/env, and what agents")
    click.echo("have not committed. `cardinal import` makes it a board in another clone.")
