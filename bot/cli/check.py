"""`cardinal check`: set-up and checks of a clone, the way the gate runs them."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from bot.admin import local_check
from bot.admin.local_check import LocalResult
from bot.cli._show import block, json_option, line, show
from bot.system import config as configuration
from ledger.views.checks import CheckRow

SHORT = 12


@click.command("check")
@click.argument("commit", default="HEAD")
@click.option(
    "-C",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    help="A folder of the clone.",
)
@click.option(
    "--base", default="", metavar="COMMIT", help="Whose policy file counts; the default branch unless named."
)
@click.option(
    "--column", default="", help="Whose network and resources count; the first with an agent unless named."
)
@click.option("--fast", is_flag=True, help="Only set-up and the fast checks.")
@click.option("--agent-view", is_flag=True, help="Print what an agent would be told of a failure.")
@json_option
def command(
    commit: str, folder: Path, base: str, column: str, fast: bool, agent_view: bool, as_json: bool
) -> None:
    """Run set-up and checks on a clean checkout of a commit.

    The commit must be in your clone; what is not committed is not checked. Commands, image and limits are
    those of the policy file on the default branch, as for the gate. Exit code 1 when a check fails, 2 when
    nothing could be checked.
    """
    config = configuration.read(os.environ, folder)
    check = local_check.find(folder, commit, base)
    name, rules = local_check.column_of(check, column)
    rows: list[CheckRow] = []

    def say(row: CheckRow) -> None:
        rows.append(row)
        if not as_json:
            click.echo(line(_result(row)))

    if not as_json:
        click.echo(
            line(f"{check.commit[:SHORT]} by the policy at {check.base_name}, as in the column {name}")
        )
        if check.uncommitted:
            click.echo("What is not committed is not checked.")
    result = local_check.carry_out(check, config, rules, fast=fast, say=say)
    value = {
        "commit": check.commit,
        "base": check.base,
        "passed": result.passed,
        "why": result.detail,
        "definition": result.definition,
        "checks": rows,
        "agent_view": result.agent_view,
    }

    def text() -> Iterable[str]:
        if agent_view:
            return block(result.agent_view or "Nothing failed: an agent would be told nothing.")
        return _conclusion(result, rows)

    show(value, as_json=as_json, text=text)
    raise SystemExit(0 if result.passed else 1)


def _conclusion(result: LocalResult, rows: list[CheckRow]) -> Iterator[str]:
    if rows and not result.passed:
        yield from block(rows[-1].tail)
    yield from _evidence(rows, result.definition)
    if not result.passed:
        yield line(f"The gate would refuse it: {result.detail}")
    else:
        yield "The gate would let it through." if rows else "Nothing is checked: validation is none."


def _result(row: CheckRow) -> str:
    said = "passed" if row.exit_code == 0 else f"failed, exit code {row.exit_code}"
    return f"$ {row.command}: {said} in {row.duration_s:.1f} s"


def _evidence(rows: list[CheckRow], definition: str) -> list[str]:
    if not rows:
        return []
    last = rows[-1]
    return [
        line(f"head {last.head}"),
        line(f"base {last.base}"),
        line(f"image {last.image or 'none'}"),
        line(f"definition {definition}"),
        *(line(f"log {row.log_digest} of {row.command}") for row in rows),
    ]
