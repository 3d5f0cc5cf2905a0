"""An audit trail as Markdown, made from the same document, for people to read."""

from collections.abc import Iterable, Mapping
from typing import Any

from bot.admin.audit.sections import SECTIONS
from bot.render.markdown.escape import block, code, line, quote
from ledger.codec import kinds
from rules.text import count

MAX_EVENTS = 5_000  # rows of the table; the JSON has all of them
_CELL = 120


def write(document: Mapping[str, Any]) -> str:
    """Return the document for reading; only the JSON can be verified."""
    summary = document["summary"]
    more = {kind.section for kind in kinds().values()} - {*SECTIONS}
    parts = (
        f"# Audit trail of {line(document['run'], 40)}",
        f"Made {line(document['made_at'], 40)} from a log of {document['log']['events']} events, whose last"
        f" digest is {code(document['log']['head'])}.",
        _facts("Request", summary["asked"]),
        _facts("Card", summary["card"]),
        _rows("Briefings", summary["briefings"]),
        _facts("Repository", summary["repository"]),
        _facts("Policy", summary["policy"]),
        _facts("Agent", summary["agent"]),
        _rows("Instructions", summary["instructions"].get("layers", ())),
        _rows("Skills considered", summary["skills"]),
        *_plans(summary["plans"]),
        _rows("Questions and answers", summary["questions"]),
        _rows("Commands and moves by people", summary["commands"]),
        _rows("Permissions given by people", summary["leave"]),
        _rows("Stages", summary["stages"]),
        _facts("Tools used", {code(name, 60): number for name, number in summary["tools"].items()}),
        _rows("Refusals", summary["refused"]),
        _rows("Hosts requested", summary["hosts"]),
        _rows("Secrets sent", summary["secrets"]),
        _rows("Findings", summary["findings"].get("findings", ())),
        _rows("Proposed follow-up cards", summary["findings"].get("follow_ups", ())),
        _rows("Other cards", summary["related"]),
        _rows("Failed rounds of checks", summary["rounds"]),
        _rows("Checks", summary["checks"]),
        _rows("Witnesses of the checks", summary["witnesses"]),
        _rows("Validation", summary["validation"], f"In {count(summary['iterations'], 'iteration')}."),
        _rows("Unchecked commits", summary["waived"]),
        _rows("Steps in a browser", summary["reproductions"]),
        _rows("Judgements of the guards", summary["guards"]),
        _rows("Violations", summary["violations"]),
        _facts("Changes", summary["changes"]),
        _rows("Signed by GitHub", summary["signed"]),
        _rows("Pushed", summary["pushed"]),
        _rows("Artifacts", summary["artifacts"]),
        _report(summary["report"]),
        _facts("Pull request", summary["pull"]),
        _rows("Reviews", summary["reviews"]),
        _rows("Answered review threads", summary["threads"]),
        _rows("Checks of the repository on GitHub", summary["ci"]),
        _facts("Cost", summary["cost"]),
        _rows("Faults", summary["faults"]),
        *(_rows(section.capitalize(), rows) for section, rows in summary.items() if section in more),
        _facts("Outcome", summary["outcome"]),
        _events(document["events"]),
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _facts(title: str, facts: Mapping[str, Any]) -> str:
    rows = [f"* {name.replace('_', ' ')}: {_text_of(value)}" for name, value in facts.items()]
    return "\n".join((f"## {title}", "", *(rows or ["Nothing was recorded."])))


def _rows(title: str, rows: Iterable[Mapping[str, Any]], said: str = "") -> str:
    rows = list(rows)
    if not rows:
        return ""
    heads = list(dict.fromkeys(name for row in rows for name in row))
    lines = [f"| {' | '.join(name.replace('_', ' ') for name in heads)} |", f"|{' --- |' * len(heads)}"]
    lines += [f"| {' | '.join(_text_of(row.get(name, '')) for name in heads)} |" for row in rows]
    return "\n".join((f"## {title}", "", *((said, "") if said else ()), *lines))


def _plans(plans: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    for plan in plans:
        by = f" by {line(plan['by'], 60)}" if plan["by"] else ""
        steps = [f"{number}. {line(step)}" for number, step in enumerate(plan["steps"], start=1)]
        bound = f"Digest of the approved plan: {code(plan['bound'])}" if plan["bound"] else ""
        yield "\n".join(
            (f"## Plan {plan['revision']}, {line(plan['state'], 40)}{by}", "", quote(plan["summary"], 2_000),
             "", *steps, *(("", bound) if bound else ()))
        )  # fmt: skip


def _report(report: Mapping[str, Any]) -> str:
    if not report:
        return ""
    lists = [
        f"* {name.replace('_', ' ')}: {line(item)}"
        for name in ("changed", "check", "open_questions")
        for item in report.get(name, ())
    ]
    return "\n".join(("## Report", "", block(str(report.get("done", "")), 20_000), "", *lists))


def _events(events: list[Mapping[str, Any]]) -> str:
    rows = [
        f"| {event['seq']} | {line(event['at'], 40)} | {line(event['kind'], 60)} | {code(event['digest'])} |"
        for event in events[:MAX_EVENTS]
    ]
    more = len(events) - MAX_EVENTS
    said = f"{count(len(events), 'event')}; the JSON has all of each, for `cardinal audit verify --file`."
    left = ["", f"{more} more are in the JSON."] if more > 0 else []
    heads = ["| event | at | kind | digest |", "| --- | --- | --- | --- |"]
    return "\n".join(("## Events", "", said, "", *heads, *rows, *left))


def _text_of(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_text_of(item) for item in value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if isinstance(value, dict):
        return _text_of(", ".join(f"{name}: {item}" for name, item in value.items() if item not in ("", ())))
    text = str(value)
    return code(text, _CELL) if text.strip() else ""
