"""An audit trail as Markdown, made from the same document, for people to read."""

from collections.abc import Iterable, Mapping
from typing import Any

from bot.render.markdown.escape import block, code, line, quote
from rules.text import count

MAX_EVENTS = 5_000  # rows of the table; the JSON has all of them
_CELL = 120


def write(document: Mapping[str, Any]) -> str:
    """Return the document for reading; only the JSON can be verified."""
    told = document["summary"]
    parts = (
        f"# Audit trail of {line(document['run'], 40)}",
        f"Made {line(document['made_at'], 40)} from a log of {document['log']['events']} events, whose last"
        f" digest is {code(document['log']['head'])}.",
        _facts("Who asked", told["asked"]),
        _facts("Card", told["card"]),
        _rows("What the agent was told", told["briefings"]),
        _facts("Repository", told["repository"]),
        _facts("Policy", told["policy"]),
        _facts("Agent", told["agent"]),
        _rows("Instructions", told["instructions"].get("layers", ())),
        _rows("Skills that were considered", told["skills"]),
        *_plans(told["plans"]),
        _rows("Questions and answers", told["questions"]),
        _rows("Commands and moves of people", told["commands"]),
        _rows("Leave that people gave", told["leave"]),
        _rows("Stages", told["stages"]),
        _facts("Tools that it used", {code(name, 60): many for name, many in told["tools"].items()}),
        _rows("What was refused", told["refused"]),
        _rows("Hosts that it asked for", told["hosts"]),
        _rows("What it found", told["findings"].get("findings", ())),
        _rows("Cards to follow", told["findings"].get("follow_ups", ())),
        _rows("Other cards", told["related"]),
        _rows("Rounds of checks that failed", told["rounds"]),
        _rows("Checks", told["checks"]),
        _rows("Validation", told["validation"], f"In {count(told['iterations'], 'iteration')}."),
        _rows("Commits that nothing checked", told["waived"]),
        _rows("Steps in a browser", told["reproductions"]),
        _rows("What the guards judged", told["guards"]),
        _rows("What the guards found", told["violations"]),
        _facts("Changes", told["changes"]),
        _rows("Pushed", told["pushed"]),
        _rows("Artifacts", told["artifacts"]),
        _report(told["report"]),
        _facts("Pull request", told["pull"]),
        _rows("Reviews", told["reviews"]),
        _rows("Review threads that were answered", told["threads"]),
        _rows("Checks of the repository on GitHub", told["ci"]),
        _facts("Cost", told["cost"]),
        _rows("Faults on the way", told["faults"]),
        _facts("Outcome", told["outcome"]),
        _events(document["events"]),
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _facts(title: str, facts: Mapping[str, Any]) -> str:
    rows = [f"* {name.replace('_', ' ')}: {_shown(value)}" for name, value in facts.items()]
    return "\n".join((f"## {title}", "", *(rows or ["Nothing was recorded."])))


def _rows(title: str, rows: Iterable[Mapping[str, Any]], said: str = "") -> str:
    rows = list(rows)
    if not rows:
        return ""
    heads = list(dict.fromkeys(name for row in rows for name in row))
    lines = [f"| {' | '.join(name.replace('_', ' ') for name in heads)} |", f"|{' --- |' * len(heads)}"]
    lines += [f"| {' | '.join(_shown(row.get(name, '')) for name in heads)} |" for row in rows]
    return "\n".join((f"## {title}", "", *((said, "") if said else ()), *lines))


def _plans(plans: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    for plan in plans:
        by = f" by {line(plan['by'], 60)}" if plan["by"] else ""
        steps = [f"{number}. {line(step)}" for number, step in enumerate(plan["steps"], start=1)]
        bound = f"What was approved: {code(plan['bound'])}" if plan["bound"] else ""
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
        f"| {one['seq']} | {line(one['at'], 40)} | {line(one['kind'], 60)} | {code(one['digest'])} |"
        for one in events[:MAX_EVENTS]
    ]
    more = len(events) - MAX_EVENTS
    said = f"{count(len(events), 'event')}; the JSON has all of each, for `cardinal audit verify --file`."
    left = ["", f"{more} more are in the JSON."] if more > 0 else []
    heads = ["| event | at | kind | digest |", "| --- | --- | --- | --- |"]
    return "\n".join(("## Events", "", said, "", *heads, *rows, *left))


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_shown(item) for item in value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if isinstance(value, dict):
        return _shown(", ".join(f"{name}: {one}" for name, one in value.items() if one not in ("", ())))
    text = str(value)
    return code(text, _CELL) if text.strip() else ""
