"""Observations of a run other than its agent's words: its to-do list, hosts, refusals, failures."""

from bot.render.markdown.escape import line
from ledger.views.observations import ObservationRow
from rules.text import count, ordinal

MAX_TODOS = 20


def todo_list(row: ObservationRow | None) -> str:
    """Return the agent's own list with ticks; empty without one."""
    if row is None or not row.todos:
        return ""
    done = [tick == "1" for tick in row.ticks.ljust(len(row.todos), "0")]
    rows = [
        f"- {'☑' if ticked else '☐'} {line(item, 200)}"
        for item, ticked in list(zip(row.todos, done, strict=False))[:MAX_TODOS]
    ]
    more = len(row.todos) - MAX_TODOS
    head = f"**The agent's own list**: {sum(done[: len(row.todos)])} of {len(row.todos)} done"
    return "\n".join([head, "", *rows, *([f"- … and {more} more"] if more > 0 else [])])


def observation_lines(row: ObservationRow | None) -> dict[str, str]:
    """Return hosts, refusals of policy and gateway, and failures of the provider; empty for none."""
    if row is None:
        return {}
    refused = (
        f"{count(row.denied, 'use')} of tools" if row.denied else "",
        count(row.refused_calls, "model call") if row.refused_calls else "",
    )
    return {
        "Network": _hosts(row),
        "Tool servers": count(row.server_calls, "call") if row.server_calls else "",
        "Refused": ", ".join(filter(None, refused)),
        "Provider": _failures(row),
    }


def server_troubles(row: ObservationRow | None) -> str:
    """Return a line for each tool server that failed; empty for none."""
    failed = row.failed_servers if row else ()
    return "\n".join(f"- Tool server {line(text, 400)}" for text in failed)


def _hosts(row: ObservationRow) -> str:
    reached = f"reached {count(len(row.reached), 'host')}" if row.reached or row.unreached else ""
    refused = f"{len(row.unreached)} refused ({_some(row.unreached)})" if row.unreached else ""
    named = f"{reached} ({_some(row.reached)})" if row.reached else reached
    return ", ".join(filter(None, (named, refused)))


def _failures(row: ObservationRow) -> str:
    if not row.failures:
        return ""
    newest = f"it answered {row.failed_status}" if row.failed_status else "no answer came"
    if row.failed_in_a_row > 1:
        newest += f", {ordinal(row.failed_in_a_row)} time in a row"
    return f"{count(row.failures, 'failure')}, the newest: {newest}"


def _some(names: tuple[str, ...]) -> str:
    more = len(names) - 3
    return ", ".join(names[:3]) + (f" and {more} more" if more > 0 else "")
