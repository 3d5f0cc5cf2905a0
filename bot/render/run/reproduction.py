"""What was played in a browser, in a line or two for the report, the pull request and the run's comment."""

from collections import Counter
from collections.abc import Iterable

from bot.render.markdown import links
from bot.render.markdown.escape import code, line
from ledger.events.reproduction import BEFORE, FAILED, KILLED, PASSED
from ledger.views.reproductions import ReproductionRow
from rules.text import count


def replays(played: tuple[ReproductionRow, ...], site: str) -> str:
    """Return a list of what was played before and after the work, the newest of each; empty without any.

    `site` is where Cardinal's pages are, empty where they are not served.
    """
    newest = {one.phase: one for one in played}
    if not newest:
        return ""
    rows = [_one(newest[phase], newest) for phase in newest]
    kept = _kept(newest.values(), site)
    return "\n".join(("**In a browser**", "", *rows, *((f"- {kept}",) if kept else ())))


def _one(row: ReproductionRow, newest: dict[str, ReproductionRow]) -> str:
    if not row.phase:
        return row.said  # Cardinal's own words
    before = row.phase == BEFORE
    many = count(len(row.steps), "step")
    start = "- Before: " if before else "- After: "
    if row.outcome == PASSED:
        return f"{start}{'could not be reproduced: all' if before else '✅ all'} {many} passed"
    if row.outcome == FAILED:
        step = code(row.steps[row.step - 1], 150)
        said = f"step {row.step} of {len(row.steps)} failed, {step}: {line(row.said, 300)}"
        still = "⚠️ **it is not repaired:** " if _was_failing(newest) else "⚠️ **it does not work:** "
        return f"{start}{'reproduced: ' if before else still}{said}{_errors(row)}"
    if row.outcome == KILLED:
        again = "that says nothing about the card; `/cardinal investigate --repro` plays it again"
        return f"{start}⚠️ **killed:** {line(row.said, 500)}; {again}"
    return f"{start}{'' if before else '⚠️ '}it could not be played: {line(row.said, 500)}"


def _was_failing(newest: dict[str, ReproductionRow]) -> bool:
    return BEFORE in newest and newest[BEFORE].outcome == FAILED


def _errors(row: ReproductionRow) -> str:
    return f" ({count(row.error_count, 'error')} on the console)" if row.error_count else ""


def _kept(played: Iterable[ReproductionRow], site: str) -> str:
    rows = list(played)
    kinds = Counter(kind for row in rows for kind in row.kept)
    if not kinds:
        return ""
    named = ", ".join(kind if many == 1 else f"{many} {kind}s" for kind, many in kinds.items())
    run_id = rows[0].run_id
    if site:
        return f"Kept: [{named}]({links.of_run(site, run_id)})"
    return f"Kept: {named}: `cardinal artifacts {run_id}` where Cardinal runs"
