"""`cardinal work`: workers alone."""

import os
from pathlib import Path

import click

from bot.cli import _home
from bot.scheduler.queues import QueueName
from bot.system import logs


@click.command("work")
@click.argument("names", nargs=-1, type=click.Choice([str(name) for name in QueueName]), metavar="[QUEUE]...")
@click.option(
    "--no-ticks",
    is_flag=True,
    help="Do not look for due work: another `cardinal` on this ledger must do that. Heartbeats are still "
    "sent.",
)
def command(names: tuple[str, ...], no_ticks: bool) -> None:
    """Run workers for all queues, or for those you name.

    The queues are control, publish, assist and runs.

    \b
    Examples:
      cardinal work
      cardinal work runs --no-ticks
    """
    from bot.daemon.up import work

    logs.set_up_logs(_home.settings())
    chosen = tuple(QueueName(name) for name in names) or tuple(QueueName)
    work(os.environ, Path.cwd(), click.echo, names=chosen, tick=not no_ticks)
