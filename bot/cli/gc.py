"""`cardinal gc`: the clean-up of this host, now."""

import os
from pathlib import Path

import click

from bot.bootstrap import open_services
from bot.cli import _home
from bot.cli._show import clean, json_option, show
from bot.scheduler import cleanup


@click.command("gc")
@click.option("--dry-run", is_flag=True, help="Remove nothing. Does not look for old rows of the ledger.")
@json_option
def command(dry_run: bool, as_json: bool) -> None:
    """Remove folders, files and rows that are no longer needed.

    These are workspaces of finished cards, containers and files of dead claims, refs and logs of old runs,
    old artifacts and old rows of the ledger: on this host, by the same rules as the clean-up that runs every
    minute. If another clean-up is running, this command says so and does nothing.

    \b
    Examples:
      cardinal gc --dry-run
      cardinal gc --json
    """
    with _home.ledger_opened():  # says what to do where there is no ledger, and makes none
        pass
    with open_services(os.environ, Path.cwd()) as services:
        done = cleanup.clean_up(services, dry_run=dry_run)
    did = "would be removed" if dry_run else "removed"
    report = {"dry_run": dry_run, "removed": list(done)}
    show(
        report,
        as_json=as_json,
        text=lambda: [f"{did}: {clean(it)}" for it in done] or ["nothing to clean up"],
    )
