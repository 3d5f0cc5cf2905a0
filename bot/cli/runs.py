"""`cardinal runs`: the newest runs."""

import click

from bot.cli import _home
from bot.cli._show import answer_rows, json_option, show
from bot.web.api.operations import list_runs
from ledger.log import event_store

READS = True


@click.command("runs")
@click.option("--card", "name", help="Only runs of this card, owner/repository#number.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@json_option
def command(name: str | None, limit: int, as_json: bool) -> None:
    """Print the newest runs.

    Each run is shown with its card, who started it, when, how long it took, and why it is waiting or ended.

    \b
    Examples:
      cardinal runs
      cardinal runs --card acme/shop#12
    """
    if name is None:
        answer = _home.run_operation(list_runs, {"limit": limit})
    else:
        with _home.open_request() as call:
            with event_store.reading(call.site.engine) as db:
                card = _home.find_card(db, name)
            answer = list_runs.list_of_card(call, card, limit).model_dump(mode="json")
    rows = answer_rows(answer["runs"], list_runs.COLUMNS, empty="no runs yet")
    show(answer, as_json=as_json, text=lambda: rows)
