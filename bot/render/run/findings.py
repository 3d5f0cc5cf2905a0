"""The comment with what an investigation found, and the follow-up cards that wait for a tick."""

from collections.abc import Mapping
from urllib.parse import quote as escaped

from bot.render.markdown.checkboxes import box
from bot.render.markdown.escape import code, fit, line, quote
from bot.render.run import reproduction
from bot.render.run import story as run_story
from bot.render.run.story import Story
from ledger.events.findings import Finding, FindingsReported, Reference
from ledger.views.findings import FollowUpRow
from rules.text import count

CONFIDENCE = {"low": "🟡 low confidence", "medium": "🟠 medium confidence", "high": "🔴 high confidence"}
MAX_NAMED = 10  # discarded paths
_ROOM = 900  # characters of a follow-up's text


def write(
    story: Story, found: FindingsReported, made: Mapping[int, FollowUpRow], *, root: str, here: str
) -> str:
    """Return the comment without its marker, for the repository `here`. `root` is the address of the pages of
    the one that was read.
    """
    blob = f"{root}/blob/{escaped(found.base, safe='')}"
    head = f"### 🔎 Run {story.run.run_id} has looked into it: {count(len(found.findings), 'finding')}"
    return fit(
        (
            head,
            quote(found.summary, 4_000),
            *(_finding(number, one, blob) for number, one in enumerate(found.findings, start=1)),
            reproduction.replays(story.played, story.site),
            _discarded(found.discarded, found.discarded_omitted),
            _follow_ups(found, made, here),
            f"Read at {code(found.base[:12])}; nothing was changed. {run_story.spent(story)}",
            "Next: `/cardinal fix` lets an agent act on this, with these findings in its briefing.",
        )
    )


def _finding(number: int, one: Finding, blob: str) -> str:
    places = [_reference(reference, blob) for reference in one.references]
    return "\n\n".join(
        part
        for part in (
            f"**{number}. {line(one.title, 250)}** · {CONFIDENCE.get(one.confidence, 'no confidence')}",
            "\n".join(f"- {place}" for place in places),
            f"Suspected cause:\n\n{quote(one.cause, 2_500)}",
            f"Recommended fix:\n\n{quote(one.fix, 2_500)}",
        )
        if part
    )


def _reference(one: Reference, blob: str) -> str:
    """Return a link to the very lines; what is not there is said and leads nowhere."""
    several = one.end_line > one.line
    lines = f":{one.line}{f'-{one.end_line}' if several else ''}" if one.line else ""
    name = code(f"{one.path}{lines}", 300)
    if not one.found:
        return f"{name} (not found)"
    mark = f"#L{one.line}{f'-L{one.end_line}' if several else ''}" if one.line else ""
    return f"[{name}]({blob}/{escaped(one.path, safe='/')}{mark})"


def _discarded(paths: tuple[str, ...], omitted: int) -> str:
    if not paths and not omitted:
        return ""
    left = max(0, len(paths) - MAX_NAMED) + omitted
    more = (f"at least {left} more" if omitted else f"{left} more") if left else ""
    named = " and ".join(filter(None, (", ".join(code(path, 120) for path in paths[:MAX_NAMED]), more)))
    return f"⚠️ Its workspace had changed {named}: an investigation changes nothing, so that is discarded."


def _follow_ups(found: FindingsReported, made: Mapping[int, FollowUpRow], here: str) -> str:
    if not found.follow_ups:
        return ""
    rows = []
    for number, one in enumerate(found.follow_ups, start=1):
        label = f"{number}. {line(one.title, 250)}: {line(one.reason, 300)}"
        row = made.get(number)
        if row is None:
            rows.append(box(f"followup:{found.run_id}:{number}", label[:_ROOM]))
        else:
            where = "" if row.repository == here else row.repository
            rows.append(f"- ☑ {label} → {where}#{row.number}")
    return "\n".join(
        ["**Follow-up cards**: tick one to have it made (or reply `/cardinal follow-up 1`)", "", *rows]
    )
