"""`cardinal up`: everything on this machine."""

import os
from pathlib import Path

import click

from bot import logs
from bot.cli import _desk


@click.command("up")
def command() -> None:
    """Run everything here, until Ctrl-C.

    Web server, workers, ticks and, unless one is set, a Redis.
    """
    from bot.up import up  # imports every job: the other commands need not wait for that

    logs.set_up(_desk.settings())
    up(os.environ, Path.cwd(), click.echo)
