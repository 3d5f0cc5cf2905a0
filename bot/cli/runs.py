"""`cardinal runs`: the newest runs."""

import click

from bot.cli import _desk
from bot.cli._show import json_option, show, table
from ledger.views import runs

HEADS = ("run", "state", "column", "repository", "agent", "attempt", "usd", "queued", "last line")


@click.command("runs")
@click.option("--card", "name", help="Only those of this card, owner/repository#number.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@json_option
def command(name: str | None, limit: int, as_json: bool) -> None:
    """Print the newest runs."""
    with _desk.reading() as db:
        found = runs.of_card(db, _desk.card(db, name).card_id, limit) if name else runs.newest(db, limit)
    rows = (
        (run.run_id, run.ending or run.state, run.column, run.repository, run.agent, run.attempt,
         f"{run.usd:.2f}", run.queued_at, run.last_line)
        for run in found
    )  # fmt: skip
    show(found, as_json=as_json, text=lambda: table(HEADS, rows, empty="no run was started yet"))
