"""`cardinal check`: set-up and checks of a clone, the way the gate runs them."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from bot.admin.clone import commit as clone
from bot.admin.clone.check import LocalResult, has_checks, run_checks
from bot.admin.clone.commit import ClonedCommit
from bot.admin.clone.guards import fewer_tests_than_base, guard_violations
from bot.admin.trial import in_force
from bot.cli._show import clean, clone_option, json_option, show, text_block
from bot.system import config as configuration
from ledger.events.guard import Violation
from ledger.events.witness import witness_text
from ledger.views.checks import CheckRow
from runner.guards.report import violation_sentence

SHORT, MAX_VIOLATIONS = 12, 20
NO_NETWORK = (
    "Set-up has no network, because the column {} allows none. Put what it fetches into the image, or "
    "list the hosts in the column: `tools: {{network: [HOST]}}`"
)


@click.command("check")
@click.argument("commit", default="HEAD")
@clone_option("A folder of the clone.")
@click.option(
    "--base",
    default="",
    metavar="COMMIT",
    help="Take the policy file from here; by default from the default branch.",
)
@click.option(
    "--column",
    default="",
    help="Take network and resources from this column; by default the first with an agent.",
)
@click.option("--fast", is_flag=True, help="Only set-up and the fast checks.")
@click.option("--agent-view", is_flag=True, help="Print what an agent would be told about a failure.")
@json_option
def command(
    commit: str, folder: Path, base: str, column: str, fast: bool, agent_view: bool, as_json: bool
) -> None:
    """Run set-up and checks on a clean checkout of a commit.

    The commit must be in your clone; uncommitted changes are not checked. Commands, image and limits are
    those of the policy file on the default branch, as for the gate. Where there is none, and `cardinal try`
    serves the clone, they are those of its board. Exit code 1 when a check fails, 2 when nothing could be
    checked.

    \b
    Examples:
      cardinal check
      cardinal check HEAD~1 --fast
    """
    say = (lambda _: None) if as_json else click.echo
    judged = check_commit(in_force.find(folder, commit, base), column, fast=fast, say=say)
    value = {
        "commit": judged.cloned.commit,
        "base": judged.cloned.base,
        "policy": judged.cloned.source,
        "passed": judged.passes,
        "why": judged.why,
        "definition": judged.result.definition if judged.result else "",
        "checks": judged.rows,
        "guards": judged.violations,
        "agent_view": judged.result.agent_view if judged.result else "",
    }

    def text() -> Iterable[str]:
        if agent_view:
            return text_block(
                str(value["agent_view"]) or "Nothing failed, so there is nothing to tell an agent."
            )
        return conclusion(judged)

    show(value, as_json=as_json, text=text)
    raise SystemExit(0 if judged.passes else 1)


@dataclass(slots=True)
class JudgedCommit:
    """Results of guards and checks for a commit; `result` is None where no check is named.

    `fast`: the full tier was left out. `hint`: the step that mends a failure, where it is known.
    """

    cloned: ClonedCommit
    violations: tuple[Violation, ...]
    rows: list[CheckRow]
    fast: bool
    result: LocalResult | None = None
    hint: str = ""

    @property
    def passes(self) -> bool:
        """Whether nothing is refused; a question of a guard is no refusal."""
        return not self.why

    @property
    def why(self) -> str:
        """Why the gate would refuse it, or nothing."""
        denied = next((violation_sentence(each) for each in self.violations if each.action == "deny"), "")
        return denied or (self.result.detail if self.result and not self.result.passed else "")


def check_commit(
    cloned: ClonedCommit,
    column: str,
    *,
    fast: bool,
    say: Callable[[str], None],
    published: Sequence[str] = (),
) -> JudgedCommit:
    """Judge the commit and run its checks; `say` gets a line for each step."""
    config = configuration.read(os.environ, Path.cwd())
    name, column_policy = clone.policy_column(cloned, column)
    say(clean(f"{cloned.commit[:SHORT]}, by {cloned.source} and the column {name}"))
    if cloned.uncommitted:
        say("Uncommitted changes are not checked.")
    judged = JudgedCommit(cloned, guard_violations(cloned, *published), [], fast)
    for violation in judged.violations[:MAX_VIOLATIONS]:
        say(_find(violation))
    if len(judged.violations) > MAX_VIOLATIONS:
        say(f"and {len(judged.violations) - MAX_VIOLATIONS} more")

    def show_check(row: CheckRow) -> None:
        judged.rows.append(row)
        say(clean(_result(row)))

    if has_checks(cloned, fast=fast):
        judged.result = run_checks(cloned, config, column_policy, fast=fast, say=show_check)
        judged.rows[:] = judged.result.rows
        for row in judged.rows:
            if said := witness_text(row):
                say(clean(f"$ {row.command}: {said}"))
        fewer = fewer_tests_than_base(cloned, judged.rows)
        for violation in fewer:
            say(_find(violation))
        judged.violations += fewer
        if judged.result.set_up_failed and not column_policy.tools.network:
            judged.hint = clean(NO_NETWORK.format(name))
    else:
        say(
            f"No check ran: the policy names {'no fast ones; `cardinal check` runs all' if fast else 'none'}."
        )
    return judged


def conclusion(judged: JudgedCommit, most: int | None = None) -> Iterator[str]:
    """Yield the end of a failed check's output, the evidence, and the gate's decision.

    With `most`, only so many lines of the output, and no evidence: digests are for a second look.
    """
    result, rows = judged.result, judged.rows
    if result is not None:
        if rows and not result.passed:
            yield from [*text_block(rows[-1].tail)][-(most or 0) :]
        yield from () if most else _evidence(rows, result.definition)
    yield from [judged.hint] if judged.hint else []
    if judged.passes and judged.fast:
        yield "Nothing refused so far. The gate runs all checks, as `cardinal check` does."
    elif judged.passes and judged.violations:
        yield "The gate would accept it once a person approves what the guards ask about."
    elif judged.passes:
        yield "The gate would accept it."
    else:
        yield clean(f"The gate would refuse it: {judged.why}")


def _find(violation: Violation) -> str:
    word = "asks a person about" if violation.action == "ask" else "refuses"
    return clean(f"The guard `{violation.guard}` {word}: {violation_sentence(violation)}")


def _result(row: CheckRow) -> str:
    said = "passed" if row.exit_code == 0 else f"failed, exit code {row.exit_code}"
    return f"$ {row.command}: {said} in {row.duration_s:.1f} s"


def _evidence(rows: list[CheckRow], definition: str) -> list[str]:
    if not rows:
        return []
    last = rows[-1]
    return [
        clean(f"head {last.head}"),
        clean(f"base {last.base}"),
        clean(f"image {last.image or 'none'}"),
        clean(f"definition {definition}"),
        *(clean(f"log {row.log_digest} of {row.command}") for row in rows),
    ]
