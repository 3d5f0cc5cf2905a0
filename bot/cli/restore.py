"""`cardinal restore`: a back-up becomes the ledger."""

from pathlib import Path

import click

from bot.cli import _home
from bot.cli._show import json_option, show
from bot.system import lock_file
from bot.system.host_name import host_name
from ledger.lifecycle import backup as backups
from ledger.log import event_store
from ledger.queue import restored


@click.command("restore")
@click.argument("source", type=click.Path(dir_okay=False, path_type=Path), required=False)
@click.option(
    "--overwrite-newer", is_flag=True, help="Restore even if the ledger has more events than the back-up."
)
@click.option(
    "--adopt", is_flag=True, help="The ledger was already restored by other means, such as pg_restore."
)
@json_option
def command(source: Path | None, overwrite_newer: bool, adopt: bool, as_json: bool) -> None:
    """Replace the ledger with a back-up.

    Stop Cardinal first. SOURCE is the back-up file, or the name of the copy that an upgrade made in
    PostgreSQL. A file can be restored into an empty PostgreSQL database named by CARDINAL_DATABASE_URL.

    Before anything else, Cardinal reads its own work since the back-up from GitHub.

    \b
    Examples:
      cardinal restore before-upgrade.db
      cardinal restore before-upgrade.db --overwrite-newer
      cardinal restore --adopt
    """
    if (source is None) != adopt:
        raise click.UsageError("name the back-up, or use --adopt alone for a ledger that is already restored")
    config = _home.settings()
    with lock_file.hold_alone(config.home):
        if source is None:
            _adopt(as_json=as_json)
            return
        report = backups.restore(
            source, config.database_url, host=host_name(config), overwrite_newer=overwrite_newer
        )
    result = {"events": report.events, "head": report.head}
    show(result, as_json=as_json, text=lambda: (f"restored: the ledger has {report.events} events",))


def _adopt(*, as_json: bool) -> None:
    with _home.ledger_opened() as engine, event_store.writing(engine) as db:
        restored.mark_restored(db)
        events = event_store.last_seq(db)
    said = f"the ledger has {events} events; Cardinal first reads on GitHub what it did since then"
    show({"events": events}, as_json=as_json, text=lambda: (said,))
