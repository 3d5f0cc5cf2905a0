"""`cardinal runs`: runs, newest first, all or those that match a filter."""

import click

from bot.cli import _home
from bot.cli._show import answer_rows, json_option, show
from bot.state.run_filters import MAX_DAYS
from bot.web.api.operation import check_fields
from bot.web.api.operations import list_runs
from ledger.log import event_store

READS = True


@click.command("runs")
@click.option("--card", "name", help="Only runs of this card, owner/repository#number.")
@click.option("--status", help="Only runs with this status, such as failed or needs-input.")
@click.option("--repository", help="Only runs in this owner/name, or of its issues.")
@click.option("--person", help="Only runs that this person requested.")
@click.option("--agent", help="Only runs of this agent.")
@click.option("--reason", help="Only runs that ended for this reason, such as validation.")
@click.option("--days", type=click.IntRange(1, MAX_DAYS), help="Only runs of the last days.")
@click.option("--limit", type=click.IntRange(1, list_runs.MAX_LISTED), default=20, show_default=True)
@click.option("--after", metavar="RUN", help="Continue behind this run, the last one of the page before.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV for spreadsheets.")
@json_option
def command(name: str | None, as_csv: bool, as_json: bool, **given: str | int | None) -> None:
    """Print the newest runs.

    Each run is shown with its card, who started it, when, how long it took, and why it is waiting or ended.

    \b
    Examples:
      cardinal runs
      cardinal runs --card acme/shop#12
      cardinal runs --status failed --days 7 --csv > failed.csv
    """
    query = check_fields(list_runs.RunQuery, {field: it for field, it in given.items() if it is not None})
    with _home.open_request() as request:
        with event_store.reading(request.site.engine) as db:
            card = _home.find_card(db, name) if name else None
        run_list = list_runs.list_runs(request, query, card)
        if as_csv:
            click.echo(list_runs.as_csv(request, run_list), nl=False)
            return
    answer = run_list.model_dump(mode="json")
    rows = answer_rows(answer["runs"], list_runs.COLUMNS, empty="no runs")
    show(answer, as_json=as_json, text=lambda: rows)
