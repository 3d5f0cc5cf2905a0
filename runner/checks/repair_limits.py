"""Limits of a run's repairs, beyond which people are asked."""

from collections.abc import Iterable
from dataclasses import dataclass

from ledger.events.guard import GuardsJudged
from ledger.events.run import QuestionAsked
from ledger.rows.limit_answers import GO_ON, PUBLISH, STOP, Size, Subject
from runner.checks.command import explain_missing
from runner.git.mirror import DiffStat
from runner.guards.report import list_violations
from runner.run.facts import FailedRounds
from runner.run.run_spec import Limits
from runner.session.context import RunContext
from runner.text.plain import one_line

GROWING_ROUNDS = 3  # in which the change only grew; fewer say nothing yet
_SHOWN = 5
_ADDED_MB = 20  # beyond this size people are asked
_MEGABYTE = 1_000_000
_NAME_BYTES = 120


def check_size(run: RunContext, change: DiffStat) -> None:
    """Raise Park when the change is over its size limits and nobody agreed to that."""
    over = oversize(change, run.spec.limits, run.list_published(Subject.SIZE))
    if over.message:
        said = f"The change is large: {over.message}. Its checks have not passed yet."
        run.ask(Subject.SIZE, f"{said} Publish it once they do?", (PUBLISH, STOP), size=over.size)


@dataclass(frozen=True, slots=True)
class Oversize:
    """Excess of a change over its size limits; `message` is empty without one."""

    size: Size
    message: str


def oversize(change: DiffStat, limits: Limits, agreed: Iterable[QuestionAsked] = ()) -> Oversize:
    """Return the excess of a change over its size limits.

    `agreed` are questions about its size that people agreed to: each allows twice the size that it named.
    """
    sizes = tuple(agreed)
    files = _over(change.files_changed, limits.files_changed, [size.files_changed for size in sizes])
    lines = _over(change.lines_changed, limits.lines_changed, [size.lines_changed for size in sizes])
    added_mb = _over(change.added_bytes // _MEGABYTE, _ADDED_MB, [size.added_mb for size in sizes])
    said = (
        f"{files} files of at most {limits.files_changed}" if files else "",
        f"{lines} lines of at most {limits.lines_changed}" if lines else "",
        f"{added_mb} MB of at most {_ADDED_MB} MB" if added_mb else "",
    )
    return Oversize(Size(files, lines, added_mb), " and ".join(filter(None, said)))


def _over(size: int, most: int, agreed: list[int]) -> int:
    """Return the value where it exceeds both the limit and twice every agreed value, else 0."""
    return size if most and size > max([most, *(2 * number for number in agreed)]) else 0


def check_repairs(run: RunContext) -> None:
    """Raise Park when another repair is hopeless, or the policy's number of repairs is reached."""
    rounds, limits = run.history.rounds, run.spec.limits
    newest = rounds.newest
    missing = newest.missing if newest else ""
    why = explain_missing(run, missing) if missing else _hopeless(rounds, limits)
    iteration = run.history.iterations
    if not why and iteration >= limits.iterations * run.allowance.times(Subject.REPAIRS):
        why = f"The checks still fail after {iteration} attempts to repair them."
    if why:
        run.ask(Subject.REPAIRS, f"{why} {describe_failure(rounds)} Let the agent continue?", (GO_ON, STOP))


def check_refusals(run: RunContext, judged: GuardsJudged) -> None:
    """Raise Park when guards refuse the change and its iterations are used up."""
    if run.history.iterations > run.spec.limits.iterations * run.allowance.times(Subject.REPAIRS):
        refused = list_violations(run.history.guards.denied, judged.left_out)
        why = f"The guardrails refuse the change: {refused}. The attempts to get it right are used up."
        run.ask(Subject.REPAIRS, f"{why} Let the agent continue, and undo that?", (GO_ON, STOP))


def ask_about_standstill(run: RunContext, iteration: int) -> None:
    """Park: since that iteration's failure the agent has changed no file."""
    newest = run.history.rounds.newest
    again = newest is None or newest.iteration == iteration
    why = (
        "The checks failed, and the agent changed nothing to repair them."
        if again
        else "The checks failed, and the agent's repair led back to files on which they had failed before."
    )
    text = f"{why} {describe_failure(run.history.rounds)} Rerun the checks and let the agent continue?"
    run.ask(Subject.REPAIRS, text, (GO_ON, STOP))


def describe_failure(rounds: FailedRounds) -> str:
    """Return the newest failure for people: command, failing tests, size of the change."""
    failed = rounds.newest
    if failed is None:
        return ""
    what = "The repository's set-up failed before any check ran: " if failed.set_up else "It was "
    names = ", ".join(one_line(name, _NAME_BYTES) for name in failed.names[:_SHOWN])
    more = f" and {failed.failing - _SHOWN} more" if failed.failing > _SHOWN else ""
    named = f": {names}{more}" if names else ""
    size = f"Changed so far: {_count(failed.files_changed, 'file')}, {_count(failed.lines_changed, 'line')}."
    return f"{what}`{one_line(failed.command, 200)}` (exit code {failed.exit_code}){named}. {size}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _hopeless(rounds: FailedRounds, limits: Limits) -> str:
    same = rounds.same_in_a_row()
    if limits.same_failures and same >= limits.same_failures:
        return f"The checks failed {same} times in a row in the same way: the repairs do not help."
    if rounds.grows(GROWING_ROUNDS):
        sizes = " → ".join(str(failure.lines_changed) for failure in rounds.failed[-GROWING_ROUNDS:])
        return f"The change grows ({sizes} lines), but no fewer tests fail."
    return ""
