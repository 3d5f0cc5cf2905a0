"""`cardinal compare`: two runs of one card, side by side."""

import click

from bot.cli import _home
from bot.cli._show import answer_lines, json_option, show
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
    answer = _home.run_operation(compare_runs, {"run": run, "other": other})
    show(answer, as_json=as_json, text=lambda: answer_lines(answer, compare_runs.COLUMNS))
