"""`cardinal upgrade`: another version of Cardinal in this one's place, there or back."""

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import click

from bot.cli import _home
from bot.system import lock_file
from ledger.errors import CardinalError
from ledger.lifecycle import backup as backups

NOTHING = "nothing"  # where a service manager starts it
STARTS = ("up", "work", "serve", NOTHING)
Run = Callable[[tuple[str, ...]], int]  # runs a command, and returns its exit code


class UpgradeError(CardinalError):
    """A step of an upgrade failed; those after it were not begun."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words
        super().__init__(
            f"`{' '.join(words)}` failed, see above: fix the cause, then run the same upgrade again"
        )


@click.command("upgrade")
@click.argument("wheel", type=click.Path(exists=True, dir_okay=False, resolve_path=True))
@click.option(
    "--restore",
    "copy",
    help="To go back to an older version: the copy of the ledger it continues with.",
)
@click.option(
    "--start",
    type=click.Choice(STARTS),
    default=STARTS[0],
    show_default=True,
    help="What to start afterwards, as this host did before.",
)
def command(wheel: str, copy: str | None, start: str) -> None:
    """Install another version, build its images, and start it.

    Stop Cardinal first. WHEEL is the other version's file. When it starts, it copies the ledger
    and says how to go back. That copy has no later events.

    \b
    Examples:
      cardinal upgrade cardinal_board-0.2.0-py3-none-any.whl
      cardinal upgrade cardinal_board-0.2.0-py3-none-any.whl --start work
      cardinal upgrade cardinal_board-0.1.0-py3-none-any.whl --restore before-upgrade.db
    """
    config = _home.settings()
    if copy:
        backups.require_source(Path(copy), config.database_url)
    upgrade(config.home, wheel, copy, lambda words: subprocess.run(words, check=False).returncode)
    if start != NOTHING:
        program = _program()
        os.execv(program[0], (*program, start))  # noqa: S606 -- no shell is the point


def upgrade(home: Path, wheel: str, copy: str | None, run: Run) -> None:
    """Put the wheel's version in place, and its ledger. Raises AlreadyUpError, PartsUpError, UpgradeError."""

    def step(*args: str) -> None:
        if run(args):
            raise UpgradeError(args)

    with lock_file.hold_alone(home):  # nothing starts while half of a version is there
        step(*pip(), "install", "--quiet", "--upgrade", wheel)
        # pip keeps what is there where another commit's wheel has the same version.
        step(*pip(), "install", "--quiet", "--no-deps", "--force-reinstall", wheel)
        step(*_program(), "images")
    if copy:
        step(*_program(), "restore", copy, "--overwrite-newer")


def pip() -> tuple[str, ...]:
    """Return the command of this very environment's pip; pipx may have made it without one."""
    if not find_spec("pip"):
        subprocess.run(
            (sys.executable, "-P", "-m", "ensurepip"), check=False
        )  # what fails then is pip's own step
    return (sys.executable, "-P", "-m", "pip")


def _program() -> tuple[str, ...]:
    """Return the command of Cardinal in this very Python, whatever version is installed by now."""
    return (sys.executable, "-P", "-m", "bot.cli")
