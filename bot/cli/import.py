"""`cardinal import`: a board of `cardinal try` from one file."""

from pathlib import Path

import click

from bot.admin.trial import carried, trial
from bot.cli._show import clean, clone_option


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@clone_option("A folder of the repository.")
def command(file: Path, folder: Path) -> None:
    """Create a board from a FILE that `cardinal export` wrote.

    The clone must not have a board yet. Continue with `cardinal try`, which asks before it runs anything from
    the file: it may come from anyone.

    \b
    Examples:
      cardinal import my-board.cardinal
    """
    place = carried.unpack_board(file, folder)
    click.echo(
        f"the board is in {clean(str(place.folder))}. Its {trial.POLICY} says what will run on this machine:"
    )
    click.echo("read it, then start `cardinal try`.")
