"""A run's activity for whoever follows it: its lines with the agent's words, tool calls and check output."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, func, literal, select

from ledger.codec import decode, kinds
from ledger.db.statements import statement
from ledger.db.tables import events
from ledger.event import Event, Zoom
from ledger.events.run import CommandChecked, ToolUsed
from ledger.ids import RunId
from ledger.queries.timeline import text_line

MAX_OUTPUT = 4000  # characters of words, and of a command's output
MAX_BEHIND = 500  # events of which an open page gets the lines, however far behind it is
# The lines of the depth activity, and the agent's work. The rest of the depth debug is the operator's.
KINDS = tuple(name for name, kind in kinds().items() if kind.is_work or kind.zoom is not Zoom.DEBUG)

_SHOWN = events.c.kind.in_([literal(kind) for kind in KINDS])


@dataclass(frozen=True, slots=True)
class RunLine:
    """One event as a line of `text`, and a program's output: `output` has line breaks and colour codes.

    `step` is the event of a line about the use of a tool, `kind` that of its event; `failed`: a command did.
    """

    seq: int
    at: datetime
    text: str
    output: str = ""
    zoom: Zoom = Zoom.ACTIVITY
    step: ToolUsed | None = None
    kind: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class RunLines:
    """Lines, the oldest first. `last`: the event up to which they go; `more` follow it.

    `omitted` counts the events before the first line that are left out.
    """

    lines: tuple[RunLine, ...]
    last: int
    omitted: int = 0
    more: bool = False


@statement
def _between(stream: Any, after: Any, most: Any) -> Select[Any]:
    mine = select(events.c.seq, events.c.at, events.c.kind, events.c.body)
    mine = mine.where(events.c.stream == stream, events.c.version > after, _SHOWN)
    return mine.order_by(events.c.version).limit(most)


@statement
def _newest(stream: Any) -> Select[Any]:
    mine = select(events.c.seq, events.c.version).where(events.c.stream == stream)
    return mine.order_by(events.c.version.desc()).limit(1)


@statement
def _version_at(stream: Any, seq: Any) -> Select[Any]:
    return select(events.c.version).where(events.c.seq == seq, events.c.stream == stream)


@statement
def _version_before(stream: Any, seq: Any) -> Select[Any]:
    return select(func.max(events.c.version)).where(events.c.stream == stream, events.c.seq < seq)


def later_lines(
    db: Connection, run_id: RunId, after: int, limit: int, *, behind: int | None = MAX_BEHIND
) -> RunLines:
    """Return at most `limit` lines after the event `after`, of the run's newest `behind` events, or
    of them all.
    """
    stream = stream_of(run_id)
    head, newest = _newest.first(db, {"stream": stream}) or (0, 0)
    place = {"stream": stream, "seq": after}
    # A reader has seen an event of this run, which is found at once; any other number is searched for.
    seen = _version_at.scalar(db, place) or _version_before.scalar(db, place) or 0
    start = seen if behind is None else max(seen, newest - behind)
    stored = _between.all(db, {"stream": stream, "after": start, "most": limit})
    lines = tuple(_line(*row) for row in stored)
    more = len(lines) == limit
    return RunLines(lines, lines[-1].seq if more else max(head, after), start - seen, more)


def stream_of(run_id: RunId) -> str:
    return f"run:{run_id}"


def _line(seq: int, at: datetime, kind: str, body: str) -> RunLine:
    event = decode(kind, body)
    step = event if isinstance(event, ToolUsed) else None
    return RunLine(
        seq=seq,
        at=at,
        text=text_line(event.describe()),
        output=_output(event)[-MAX_OUTPUT:],
        zoom=event.zoom,
        step=step,
        kind=kind,
        failed=not step.ok if step else isinstance(event, CommandChecked) and event.exit_code != 0,
    )


def _output(event: Event) -> str:
    """Return a program's output; of an agent and people their words, where one line does not hold them."""
    if isinstance(event, CommandChecked):
        return event.tail
    words: str = getattr(event, event.in_full) if event.in_full else ""
    return words if text_line(words) != words.strip() else ""
