"""`cardinal rebuild`: the views folded again, or an upgrade taken back, while work goes on."""

import subprocess
import sys

import click

from bot.cli import _home
from ledger.errors import CardinalError
from ledger.lifecycle.open import connect
from ledger.lifecycle.upgrade import upgrade


class RebuildError(CardinalError):
    """The views could not be folded again; what is folded so far is gone on with by the next try."""

    def __init__(self, because: str) -> None:
        super().__init__(f"the views were not folded again: {because or 'it was killed'}; try it once more")


@click.command("rebuild")
@click.option(
    "--take-back",
    is_flag=True,
    help="Give the ledger back to this version, where a later one took it over; that one is refused then.",
)
def command(take_back: bool) -> None:
    """Fold all views again from the events.

    Everything works on meanwhile. One that was killed is gone on with.
    """
    config = _home.settings()
    if take_back:
        engine = connect(config.database_url)
        try:
            upgrade(engine, _say, back=True)
        finally:
            engine.dispose()
        click.echo("the ledger is this version's")
        return
    _home.open_engine(config).dispose()  # says what stands against it
    words = (sys.executable, "-P", "-m", "ledger.lifecycle.again")
    # The tables of that process have other names; its address is on no command line for everybody to read.
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(f"{config.database_url}\n")
        process.stdin.close()
        for line in process.stdout:
            position, last = line.split()
            _say(int(position), int(last))
        because = process.stderr.read().strip().rpartition("\n")[2]
    if process.returncode:
        raise RebuildError(because)
    click.echo("all views are folded again")


def _say(position: int, last: int) -> None:
    click.echo(f"{position} of {last} events are folded")
