"""A card's story in lines that people read, made from the log: conversation, activity, debug."""

from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import BigInteger, Connection, Select, Text, bindparam, literal, literal_column, select

from ledger.codec import decode, kinds
from ledger.db.statements import Statement, statement
from ledger.db.tables import events
from ledger.event import Event, Zoom
from ledger.events.board import CardEvent
from ledger.events.conversation import AssistantReplied, CommandGiven, PersonSaid
from ledger.events.pull import ReviewSubmitted
from ledger.events.run import (
    PlanRedirected,
    QuestionAnswered,
    QuestionAsked,
    RunEvent,
    RunSteered,
    ToolUsed,
)
from ledger.ids import CardId, RunId
from ledger.views.runs import runs

LINE_CHARS, WORDS_CHARS = 500, 4_000  # of a line; of one with the words of people or to them
MAX_EVENTS = 1000  # that are read where steps fold
MAX_SEQ = 2**62  # no event has it


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """One line; `seq` is its event's, `run_id` is None for an event of no run.

    `payload` has the event's fields as JSON, at the depth debug and for kinds that show it. `step` is
    the event of a line about the use of a tool. `words` are said by `speaker`, with their line breaks; a run
    or the assistant speaks where that is empty.
    """

    seq: int
    card_id: CardId
    run_id: RunId | None
    zoom: Zoom
    kind: str
    text: str
    at: datetime
    payload: str = ""
    step: ToolUsed | None = None
    speaker: str = ""
    words: str = ""


def of_card(
    db: Connection,
    card_id: CardId,
    zoom: Zoom = Zoom.ACTIVITY,
    limit: int = 100,
    before: int | None = None,
    *,
    steps: bool = False,
) -> tuple[TimelineRow, ...]:
    """Return the card's newest lines at that depth, or those before event `before`, the oldest first.

    With `steps` every use of a tool has a line.
    """
    query = _newest(Zoom(zoom), steps)
    bounds = {"before": MAX_SEQ if before is None else before, "most": limit}
    newest = sorted(map(tuple, query.all(db, {**bounds, "stream": f"card:{card_id}"})), reverse=True)
    for run_id, last in _spans.all(db, {"card_id": card_id, "before": bounds["before"]}):
        if len(newest) == limit and last < newest[-1][0]:
            break  # the other runs ended before all of these lines
        newest += map(tuple, query.all(db, {**bounds, "stream": f"run:{run_id}"}))
        newest = sorted(newest, reverse=True)[:limit]
    lines = []
    for seq, at, kind, body in newest:
        event = decode(kind, body)
        payload = body if zoom == Zoom.DEBUG and event.shows_payload else ""
        lines.append(replace(event_line(card_id, seq, at, event), payload=payload))
    return tuple(reversed(lines))


def times_of(db: Connection, card_id: CardId, kind: type[CardEvent], since: datetime) -> tuple[datetime, ...]:
    """Return when events of that kind happened to the card after `since`, the oldest first."""
    mine = {"stream": f"card:{card_id}", "kind": kind.__name__, "since": since}
    return tuple([row[0] for row in _times.all(db, mine)])


def event_line(card_id: CardId, seq: int, at: datetime, event: Event) -> TimelineRow:
    kind = type(event).__name__
    run_id = event.run_id if isinstance(event, RunEvent) else None
    step = event if isinstance(event, ToolUsed) else None
    text = text_line(event.describe(), WORDS_CHARS if event.has_words else LINE_CHARS)
    speaker, words = _who_said(event)
    return TimelineRow(
        seq=seq,
        card_id=card_id,
        run_id=run_id,
        zoom=event.zoom,
        kind=kind,
        text=text,
        at=at,
        step=step,
        speaker=speaker,
        words=words[:WORDS_CHARS],
    )


def _who_said(event: Event) -> tuple[str, str]:
    """Return who said what in the event; two empty texts for an event without words to people or by them."""
    match event:
        case PersonSaid():
            return event.author, event.text
        case ReviewSubmitted():
            return event.author, f"**{event.verdict.replace('_', ' ').capitalize()}**\n\n{event.body}"
        case CommandGiven():
            return event.by, f"/cardinal {event.command} {event.argument}".rstrip()
        case QuestionAnswered() | PlanRedirected() | RunSteered():
            return event.by, event.text
        case AssistantReplied() | QuestionAsked():
            return "", event.text
        case _:
            return "", ""


def text_line(text: str, most: int = LINE_CHARS) -> str:
    """Return `text` without line breaks and control characters, at most so many characters."""
    whole = " ".join("".join(char if char.isprintable() else " " for char in text[: most * 4]).split())
    return whole if len(whole) <= most else whole[: most - 1] + "…"


@cache
def _newest(zoom: Zoom, steps: bool) -> Statement:
    """Return the query for a stream's newest events down to that depth."""
    depths = tuple(Zoom)[: tuple(Zoom).index(zoom) + 1]
    shown = [name for name, kind in kinds().items() if kind.zoom in depths or (steps and kind is ToolUsed)]
    condition = events.c.stream == bindparam("stream", type_=Text)
    condition &= events.c.seq < bindparam("before", type_=BigInteger)
    if zoom is not Zoom.DEBUG:
        condition &= events.c.kind.in_([literal(name) for name in shown])
    query = select(events.c.seq, events.c.at, events.c.kind, events.c.body).where(condition)
    return Statement(query.order_by(events.c.version.desc()).limit(bindparam("most", type_=BigInteger)))


@statement
def _spans(card_id: Any, before: Any) -> Select[Any]:
    """The card's runs with an event before that one, each with its last event, the newest first."""
    stream = literal("run:", Text) + runs.c.run_id
    own = select(events.c.seq).where(events.c.stream == stream).limit(1)
    first = own.order_by(events.c.version).scalar_subquery()
    last = own.order_by(events.c.version.desc()).scalar_subquery()
    spans = select(runs.c.run_id, last.label("last")).where(runs.c.card_id == card_id, first < before)
    return spans.order_by(literal_column("last").desc())


@statement
def _times(stream: Any, kind: Any, since: Any) -> Select[Any]:
    mine = (events.c.stream == stream) & (events.c.kind == kind) & (events.c.at > since)
    return select(events.c.at).where(mine).order_by(events.c.version)
