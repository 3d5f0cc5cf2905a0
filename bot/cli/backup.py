"""`cardinal backup`: a copy of the ledger while it is in use."""

from pathlib import Path

import click

from bot.cli import _home
from bot.cli._show import json_option, show
from bot.system.clock import utc_now
from ledger.lifecycle import backup as backups


@click.command("backup")
@click.argument("target", type=click.Path(path_type=Path), required=False)
@json_option
def command(target: Path | None, as_json: bool) -> None:
    """Copy the ledger while Cardinal is running.

    The copy is verified. It is written to TARGET, or to the home's backups if TARGET is not given.

    \b
    Examples:
      cardinal backup
      cardinal backup before-upgrade.db
    """
    config = _home.settings()
    file = target or config.home / "backups" / f"ledger-{utc_now():%Y%m%dT%H%M%S}.db"
    with _home.ledger_opened() as engine:
        report = backups.backup(engine, file)
    result = {"file": str(file), "events": report.events, "head": report.head}
    show(result, as_json=as_json, text=lambda: (f"{report.events} events are in {file}",))
