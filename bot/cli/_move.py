"""`cardinal try --move-to`: the person's token, the plan, and their word to go on."""

import os
import sys

import click

from bot.admin.clone import carried, trial
from bot.admin.clone.move import carry, destination, local_board
from bot.admin.clone.own_git import CloneError
from bot.cli import CliError
from bot.cli._show import clean
from bot.github.client import REPOSITORY
from bot.github.personal import PersonalHub
from bot.system import config
from bot.system.clock import utc_now
from bot.system.secret import Secret
from bot.system.setting_types import board_address

TOKENS = ("GH_TOKEN", "GITHUB_TOKEN")  # cli.github.com/manual/gh_help_environment
ADDRESSES = ("CARDINAL_GITHUB_URL", "CARDINAL_GIT_URL")


def move(place: trial.Trial, repository: str, board: str, *, yes: bool, dry_run: bool) -> None:
    """Carry the board's cards and branches over. Raises CliError, CloneError."""
    if not REPOSITORY.fullmatch(repository):
        raise CliError("--move-to has an owner and a name: --move-to acme/shop")
    if board and not board_address(board):
        raise CliError("--board has an owner and a project's number: --board acme/1")
    if place.is_new:
        raise CloneError("there is no board here: start `cardinal try` first")
    addresses = {name: os.environ[name] for name in ADDRESSES if name in os.environ}
    home = place.folder / "move"  # the board's own settings are those of its forge
    settings = config.read({**addresses, "CARDINAL_HOME": str(home)}, place.folder)
    hub = PersonalHub(settings, _token(), utc_now, _say)
    with carried.stopped(place.folder), destination.in_words():
        local = local_board.read(place)
        there = destination.find(hub, repository, board)
        carry.show_plan(there, local, _say)
        if dry_run:
            click.echo("Nothing was written.")
            return
        if not yes:
            click.confirm("Carry it over?", abort=True)
        carry.carry(there, local, _say)
    click.echo(
        f"All of it is there. This board stays as it is: remove {clean(str(place.folder))} if you want."
    )


def _token() -> Secret:
    token = next((os.environ[name] for name in TOKENS if os.environ.get(name)), "")
    if not token and sys.stdin.isatty():
        token = click.prompt(
            "Your token for GitHub, with the scopes repo and project", hide_input=True, err=True
        )
    if not token:
        raise CliError(
            "GitHub wants to know who you are: `gh auth refresh -s project` once, then "
            "GH_TOKEN=$(gh auth token) before the command"
        )
    return Secret(token)


def _say(text: str) -> None:
    click.echo(clean(text) if text[:1] != " " else f"  {clean(text)}")
