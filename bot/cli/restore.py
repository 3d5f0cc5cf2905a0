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
    "--overwrite-newer", is_flag=True, help="Also when the ledger has more events than the back-up."
)
@click.option("--adopt", is_flag=True, help="The ledger was put back by other means, as by pg_restore.")
@json_option
def command(source: Path | None, overwrite_newer: bool, adopt: bool, as_json: bool) -> None:
    """Put a back-up in the ledger's place.

    Stop Cardinal first; SOURCE is the back-up, or names the copy that an upgrade made in
    PostgreSQL. A file goes over to an empty database of PostgreSQL that CARDINAL_DATABASE_URL names.

    Cardinal then reads on GitHub its own work since the back-up, before it does anything else.

    \b
    Examples:
      cardinal restore before-upgrade.db
      cardinal restore before-upgrade.db --overwrite-newer
      cardinal restore --adopt
    """
    if (source is None) != adopt:
        raise click.UsageError(
            "name the back-up; or say --adopt alone, for a ledger that was put back already"
        )
    config = _home.settings()
    with lock_file.hold_alone(config.home):
        if source is None:
            _adopt(as_json=as_json)
            return
        report = backups.restore(
            source, config.database_url, host=host_name(config), overwrite_newer=overwrite_newer
        )
    result = {"events": report.events, "head": report.head}
    show(result, as_json=as_json, text=lambda: (f"the ledger has {report.events} events again",))


def _adopt(*, as_json: bool) -> None:
    with _home.ledger_opened() as engine, event_store.writing(engine) as db:
        restored.mark_restored(db)
        events = event_store.last_seq(db)
    said = f"the ledger has {events} events: what GitHub shows of the time since is adopted first"
    show({"events": events}, as_json=as_json, text=lambda: (said,))
