"""Comment with an investigation's findings, and the follow-up cards that wait for a tick."""

from collections.abc import Mapping
from urllib.parse import quote as escaped

from bot.render.markdown.checkboxes import box
from bot.render.markdown.escape import code, fit_comment, line, quote
from bot.render.run import reproduction
from bot.render.run import story as run_story
from bot.render.run.story import Story
from ledger.events.findings import Finding, FindingsReported, Reference
from ledger.rows.findings import FollowUpRow
from rules.text import count

CONFIDENCE = {"low": "🟡 low confidence", "medium": "🟠 medium confidence", "high": "🔴 high confidence"}
MAX_NAMED = 10  # discarded paths
_ROOM = 900  # characters of a follow-up's text


def write(
    story: Story, report: FindingsReported, made: Mapping[int, FollowUpRow], *, root: str, here: str
) -> str:
    """Return the comment without its marker, for the repository `here`. `root` is the address of the pages of
    the one that was read.
    """
    blob = f"{root}/blob/{escaped(report.base, safe='')}"
    head = f"### 🔎 Run {story.run.run_id} investigated: {count(len(report.findings), 'finding')}"
    link = run_story.watch_link(story.site, story.run)
    return fit_comment(
        (
            f"{head}{link}",
            quote(report.summary, 4_000),
            *(_finding(number, finding, blob) for number, finding in enumerate(report.findings, start=1)),
            reproduction.list_plays(story.reproductions, story.site),
            _describe_discarded(report.discarded, report.discarded_omitted),
            _follow_ups(report, made, here),
            f"Read at {code(report.base[:12])}; nothing was changed. {run_story.describe_spent(story)}",
            "Next: `/cardinal fix` lets an agent act on this, with these findings in its briefing.",
        )
    )


def _finding(number: int, finding: Finding, blob: str) -> str:
    places = [_reference(reference, blob) for reference in finding.references]
    parts = (
        f"**{number}. {line(finding.title, 250)}** · {CONFIDENCE.get(finding.confidence, 'no confidence')}",
        "\n".join(f"- {place}" for place in places),
        f"Suspected cause:\n\n{quote(finding.cause, 2_500)}",
        f"Recommended fix:\n\n{quote(finding.fix, 2_500)}",
    )
    return "\n\n".join(filter(None, parts))


def _reference(reference: Reference, blob: str) -> str:
    """Return a link to the exact lines; a missing file has no link."""
    several = reference.end_line > reference.line
    lines = f":{reference.line}{f'-{reference.end_line}' if several else ''}" if reference.line else ""
    name = code(f"{reference.path}{lines}", 300)
    if not reference.found:
        return f"{name} (not found)"
    mark = f"#L{reference.line}{f'-L{reference.end_line}' if several else ''}" if reference.line else ""
    return f"[{name}]({blob}/{escaped(reference.path, safe='/')}{mark})"


def _describe_discarded(paths: tuple[str, ...], omitted: int) -> str:
    if not paths and not omitted:
        return ""
    left = max(0, len(paths) - MAX_NAMED) + omitted
    more = (f"at least {left} more" if omitted else f"{left} more") if left else ""
    named = " and ".join(filter(None, (", ".join(code(path, 120) for path in paths[:MAX_NAMED]), more)))
    return f"⚠️ Its workspace had changed {named}: an investigation changes nothing, so that is discarded."


def _follow_ups(report: FindingsReported, made: Mapping[int, FollowUpRow], here: str) -> str:
    if not report.follow_ups:
        return ""
    rows = []
    for number, follow_up in enumerate(report.follow_ups, start=1):
        label = f"{number}. {line(follow_up.title, 250)}: {line(follow_up.reason, 300)}"
        row = made.get(number)
        if row is None:
            rows.append(box(f"followup:{report.run_id}:{number}", label[:_ROOM]))
        else:
            where = "" if row.repository == here else row.repository
            rows.append(f"- ☑ {label} → {where}#{row.number}")
    return "\n".join(
        ["**Follow-up cards**: tick one to create it (or reply `/cardinal follow-up 1`)", "", *rows]
    )
