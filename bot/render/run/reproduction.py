"""Browser plays of a run, as a list for its report, its comment and the pull request."""

from collections import Counter

from bot.render.markdown import links
from bot.render.markdown.escape import code, line
from ledger.events.reproduction import BEFORE, FAILED, KILLED, PASSED
from ledger.views.reproductions import ReproductionRow
from rules.text import count


def list_plays(played: tuple[ReproductionRow, ...], site: str) -> str:
    """Return the newest play before and after the work; empty without any. `site`: address of the pages."""
    newest = {row.phase: row for row in played}
    if not newest:
        return ""
    rows = [_line(row, newest) for row in newest.values()]
    kept = _list_kept(list(newest.values()), site)
    return "\n".join(("**In a browser**", "", *rows, *((f"- {kept}",) if kept else ())))


def _line(row: ReproductionRow, newest: dict[str, ReproductionRow]) -> str:
    if not row.phase:
        return row.said  # Cardinal's own words
    before = row.phase == BEFORE
    steps = count(len(row.steps), "step")
    start = "- Before: " if before else "- After: "
    if row.outcome == PASSED:
        return f"{start}{'could not be reproduced: all' if before else '✅ all'} {steps} passed"
    if row.outcome == FAILED:
        step = code(row.steps[row.step - 1], 150)
        said = f"step {row.step} of {len(row.steps)} failed, {step}: {line(row.said, 300)}"
        known = BEFORE in newest and newest[BEFORE].outcome == FAILED
        still = "⚠️ **it is not repaired:** " if known else "⚠️ **it does not work:** "
        errors = f" ({count(row.error_count, 'error')} on the console)" if row.error_count else ""
        return f"{start}{'reproduced: ' if before else still}{said}{errors}"
    if row.outcome == KILLED:
        again = "that says nothing about the card; `/cardinal investigate --repro` plays it again"
        return f"{start}⚠️ **killed:** {line(row.said, 500)}; {again}"
    return f"{start}{'' if before else '⚠️ '}it could not be played: {line(row.said, 500)}"


def _list_kept(rows: list[ReproductionRow], site: str) -> str:
    kinds = Counter(kind for row in rows for kind in row.kept)
    if not kinds:
        return ""
    named = ", ".join(kind if number == 1 else f"{number} {kind}s" for kind, number in kinds.items())
    run_id = rows[0].run_id
    if site:
        return f"Kept: [{named}]({links.files_link(site, run_id)})"
    return f"Kept: {named}: `cardinal artifacts {run_id}` where Cardinal runs"
