"""`cardinal compare`: two runs of one card, side by side."""

import click

from bot.cli import _home
from bot.cli._show import answer_lines, json_option, show
from bot.web.api.operation import check_fields
from bot.web.api.operations import compare_runs

READS = True


@click.command("compare")
@click.argument("run")
@click.argument("other")
@json_option
def command(run: str, other: str, as_json: bool) -> None:
    """Print two runs of one card side by side.

    Below them is each file that either changed.

    \b
    Example:
      cardinal compare r12 r13
    """
    with _home.open_request() as request:
        output = compare_runs.run(request, check_fields(compare_runs.TwoRuns, {"run": run, "other": other}))
    answer = output.model_dump(mode="json")
    show(answer, as_json=as_json, text=lambda: answer_lines(answer, compare_runs.COLUMNS))
