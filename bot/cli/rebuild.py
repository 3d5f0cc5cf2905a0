"""`cardinal rebuild`: the views folded again, or an upgrade taken back, while work goes on."""

from functools import partial

import click

from bot.cli import _home
from bot.cli._show import json_option, show
from ledger.lifecycle import again, upgrade_backup
from ledger.lifecycle.open import connect
from ledger.lifecycle.upgrade import upgrade_ledger


@click.command("rebuild")
@click.option(
    "--take-back",
    is_flag=True,
    help="Return the ledger to this version after a later one took it over; the later one is then refused.",
)
@json_option
def command(take_back: bool, as_json: bool) -> None:
    """Rebuild all views from the events.

    Cardinal keeps running meanwhile. If it is killed, run it again to continue.

    \b
    Examples:
      cardinal rebuild
      cardinal rebuild --take-back
    """
    config = _home.settings()
    _home.require_ledger(config)
    say = partial(click.echo, err=as_json)

    def report(position: int, last: int) -> None:
        say(f"{position} of {last} events folded")

    if not take_back:
        again.fold_again(config.database_url, report)
        show({"folded": True}, as_json=as_json, text=lambda: ("all views are rebuilt",))
        return
    engine = connect(config.database_url)
    try:
        upgrade_ledger(engine, report, before=partial(upgrade_backup.back_up, say=say), back=True)
    finally:
        engine.dispose()
    show({"taken_back": True}, as_json=as_json, text=lambda: ("the ledger belongs to this version again",))
