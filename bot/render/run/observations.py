"""What was seen of a run beside its agent's words, for people: the agent's own list, failures, hosts."""

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


def facts(seen: ObservationRow | None) -> dict[str, str]:
    """Return what else was seen, by name and grouped; empty values for what was not."""
    if seen is None:
        return {}
    return {
        "Network": hosts(seen),
        "Refused": refusals(seen),
        "Provider": failures(seen),
    }


def hosts(seen: ObservationRow) -> str:
    """Return how many hosts were reached and refused; empty for none."""
    reached = f"reached {count(len(seen.reached), 'host')}" if seen.reached or seen.unreached else ""
    refused = f"{len(seen.unreached)} refused ({_some(seen.unreached)})" if seen.unreached else ""
    named = f"{reached} ({_some(seen.reached)})" if seen.reached else reached
    return ", ".join(part for part in (named, refused) if part)


def refusals(seen: ObservationRow) -> str:
    """Return how many wishes of the agent the policy and the gateway refused; empty for none."""
    parts = (
        count(seen.denied, "use") + " of tools" if seen.denied else "",
        count(seen.refused_calls, "model call") if seen.refused_calls else "",
    )
    return ", ".join(part for part in parts if part)


def failures(seen: ObservationRow) -> str:
    """Return how the model's provider failed; empty when it did not."""
    if not seen.failures:
        return ""
    newest = failure(seen.failed_status, seen.failed_in_a_row)
    return f"{count(seen.failures, 'failure')}, the newest: {newest}"


def failure(status: int, in_a_row: int) -> str:
    """Return one failure of the provider as half a sentence."""
    what = f"it answered {status}" if status else "no answer came"
    return f"{what}, {ordinal(in_a_row)} time in a row" if in_a_row > 1 else what


def _some(names: tuple[str, ...]) -> str:
    more = len(names) - 3
    return ", ".join(names[:3]) + (f" and {more} more" if more > 0 else "")
