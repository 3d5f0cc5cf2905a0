"""Observations of a run other than its agent's words: its to-do list, hosts, refusals, failures."""

from bot.render.markdown.escape import line
from ledger.views.observations import ObservationRow
from rules.text import count, ordinal

MAX_TODOS = 20


def todo_list(seen: ObservationRow | None) -> str:
    """Return the agent's own list with ticks; empty without one."""
    if seen is None or not seen.todos:
        return ""
    done = [tick == "1" for tick in seen.ticks.ljust(len(seen.todos), "0")]
    rows = [
        f"- {'☑' if ticked else '☐'} {line(item, 200)}"
        for item, ticked in list(zip(seen.todos, done, strict=False))[:MAX_TODOS]
    ]
    more = len(seen.todos) - MAX_TODOS
    head = f"**The agent's own list**: {sum(done[: len(seen.todos)])} of {len(seen.todos)} done"
    return "\n".join([head, "", *rows, *([f"- … and {more} more"] if more > 0 else [])])


def observation_lines(seen: ObservationRow | None) -> dict[str, str]:
    """Return hosts, refusals of policy and gateway, and failures of the provider; empty for none."""
    if seen is None:
        return {}
    refused = (
        f"{count(seen.denied, 'use')} of tools" if seen.denied else "",
        count(seen.refused_calls, "model call") if seen.refused_calls else "",
    )
    return {
        "Network": _hosts(seen),
        "Tool servers": count(seen.server_calls, "call") if seen.server_calls else "",
        "Refused": ", ".join(filter(None, refused)),
        "Provider": _failures(seen),
    }


def server_troubles(seen: ObservationRow | None) -> str:
    """Return a line for each tool server that failed; empty for none."""
    failed = seen.failed_servers if seen else ()
    return "\n".join(f"- Tool server {line(text, 400)}" for text in failed)


def _hosts(seen: ObservationRow) -> str:
    reached = f"reached {count(len(seen.reached), 'host')}" if seen.reached or seen.unreached else ""
    refused = f"{len(seen.unreached)} refused ({_some(seen.unreached)})" if seen.unreached else ""
    named = f"{reached} ({_some(seen.reached)})" if seen.reached else reached
    return ", ".join(filter(None, (named, refused)))


def _failures(seen: ObservationRow) -> str:
    if not seen.failures:
        return ""
    newest = f"it answered {seen.failed_status}" if seen.failed_status else "no answer came"
    if seen.failed_in_a_row > 1:
        newest += f", {ordinal(seen.failed_in_a_row)} time in a row"
    return f"{count(seen.failures, 'failure')}, the newest: {newest}"


def _some(names: tuple[str, ...]) -> str:
    more = len(names) - 3
    return ", ".join(names[:3]) + (f" and {more} more" if more > 0 else "")
