"""`cardinal import`: a board of `cardinal try` from one file."""

from pathlib import Path

import click

from bot.admin.clone import carried, trial
from bot.cli._show import clean, clone_option


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@clone_option("A folder of the repository.")
def command(file: Path, folder: Path) -> None:
    """Make a board from FILE, which `cardinal export` has written.

    It is made in this clone, which has none yet, and goes on with `cardinal try`. The file may be anybody's:
    `cardinal try` asks before it runs anything in it.

    \b
    Examples:
      cardinal import my-board.cardinal
    """
    place = carried.unpack_board(file, folder)
    click.echo(f"the board is in {clean(str(place.folder))}. Its {trial.POLICY} says what is run here:")
    click.echo("read it, then start `cardinal try`.")
