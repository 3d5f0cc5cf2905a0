"""`cardinal serve`: the web server alone."""

import os
from pathlib import Path

import click

from bot.cli import _home
from bot.system import logs


@click.command("serve")
def command() -> None:
    """Run the web server alone.

    It stores deliveries; workers started elsewhere do the rest.

    \b
    Example:
      cardinal serve
    """
    from bot.daemon.up import serve

    logs.set_up_logs(_home.settings())
    serve(os.environ, Path.cwd(), click.echo)
