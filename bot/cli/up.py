"""`cardinal up`: everything on this machine."""

import os
from pathlib import Path

import click

from bot.cli import _home
from bot.system import logs


@click.command("up")
def command() -> None:
    """Run everything here, until Ctrl-C.

    Starts the web server, workers, ticks and, unless one is configured, a Redis.

    \b
    Example:
      cardinal up
    """
    from bot.cli import _socket
    from bot.daemon.up import up

    logs.set_up_logs(_home.settings())
    _socket.warm_up()  # once, for all who will type them
    up(os.environ, Path.cwd(), click.echo, _socket.listening, _socket.carry_out_for)
