"""`cardinal export`: the board of `cardinal try` as one file."""

from pathlib import Path

import click

from bot.admin.clone import carried, trial
from bot.cli._show import clone_option


@click.command("export")
@click.argument("file", type=click.Path(path_type=Path))
@clone_option("A folder of the repository.")
def command(file: Path, folder: Path) -> None:
    """Write the board of `cardinal try` into FILE.

    Cards, comments, runs, events, artifacts and branches are in it. Keys, tokens and .cardinal/env are not,
    nor an agent's uncommitted work. The board must not run.

    A home of `cardinal up` has `cardinal backup`.

    \b
    Examples:
      cardinal export my-board.cardinal
    """
    size = carried.pack_board(trial.find(folder, ""), file)
    click.echo(f"{file}: {size / 1e6:.1f} MB. Not in it: keys, tokens, .cardinal/env, and what agents")
    click.echo("have not committed. `cardinal import` makes it a board in another clone.")
