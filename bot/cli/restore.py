"""`cardinal restore`: a back-up becomes the ledger."""

from pathlib import Path

import click

from bot.cli import _home
from bot.cli._show import json_option, show
from bot.system import lock_file
from bot.system.host_name import host_name
from ledger.lifecycle import backup as backups


@click.command("restore")
@click.argument("source", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--overwrite-newer", is_flag=True, help="Also when the ledger has more events than the back-up."
)
@json_option
def command(source: Path, overwrite_newer: bool, as_json: bool) -> None:
    """Put a back-up in the ledger's place.

    Only while nothing runs in this home; SOURCE is the back-up, or names the copy that an upgrade made in
    PostgreSQL. A file goes over to an empty database of PostgreSQL that CARDINAL_DATABASE_URL names.

    \b
    Examples:
      cardinal restore before-upgrade.db
      cardinal restore before-upgrade.db --overwrite-newer
    """
    config = _home.settings()
    with lock_file.hold_alone(config.home):
        report = backups.restore(
            source, config.database_url, host=host_name(config), overwrite_newer=overwrite_newer
        )
    result = {"events": report.events, "head": report.head}
    show(result, as_json=as_json, text=lambda: (f"the ledger has {report.events} events again",))
