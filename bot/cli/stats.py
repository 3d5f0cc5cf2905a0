"""`cardinal stats`: costs of runs, their endings, and waits for each other."""

import click

from bot.cli import _home
from bot.cli._show import answer_lines, json_option, show
from bot.web.api.operations import get_stats

READS = True


@click.command("stats")
@click.option(
    "--days", type=click.IntRange(1, 3650), default=30, show_default=True, help="How many days back."
)
@json_option
def command(days: int, as_json: bool) -> None:
    """Print cost and flow of the last days.

    Shows dollars by day, column, repository, person, agent and model, and per merged pull request; how runs
    ended and why they failed; how long they waited for people and for a worker; and today's limits.

    \b
    Example:
      cardinal stats --days 7
    """
    answer = _home.run_operation(get_stats, {"days": days})
    show(answer, as_json=as_json, text=lambda: answer_lines(answer))
