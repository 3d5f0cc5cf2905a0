"""`cardinal serve`: the web server alone."""

import os
from pathlib import Path

import click

from bot import logs
from bot.cli import _desk


@click.command("serve")
def command() -> None:
    """Run the web server alone.

    It stores deliveries; workers elsewhere do the rest.
    """
    from bot.up import serve

    logs.set_up(_desk.settings())
    serve(os.environ, Path.cwd(), click.echo)
