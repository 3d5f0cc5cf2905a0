"""A card's timeline as its page shows it: steps in a row are folded, and all is cut to the size of a page."""

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markupsafe import escape
from sqlalchemy import Connection

from bot.render.run.folded_steps import fold_rows, without_echoes
from bot.web.site.layout import short_when
from ledger.ids import CardId
from ledger.queries import timeline
from ledger.queries.timeline import MAX_EVENTS, WORDS_CHARS, TimelineRow, Zoom
from rules.text import plain

MAX_PAYLOAD = 2000
MAX_LINES, MAX_LINE = 200, 500
MAX_STEPS, MAX_STEP, STEP_BYTES = 50, 200, 60  # lines of a fold, characters of each, and the HTML around it
MAX_BYTES = 48_000  # of the lines: a page stays under 100 kB


class LineView(NamedTuple):
    """A line of the timeline, and the fields of its event.

    A fold has `steps`, each with its time; `omitted` of them are before those.
    """

    seq: int
    at: str
    run_id: str
    text: str
    kind: str
    payload: str
    steps: Sequence[tuple[str, str]] = ()
    omitted: int = 0


def newest(
    db: Connection, card_id: CardId, zoom: Zoom, before: int | None
) -> tuple[Sequence[LineView], bool]:
    """Return the newest lines before an event, the oldest first; and whether older ones are left out."""
    folds = zoom is Zoom.ACTIVITY
    most = MAX_EVENTS if folds else MAX_LINES
    rows = timeline.of_card(db, card_id, zoom, most, before, steps=folds)
    once = rows if zoom is Zoom.DEBUG else tuple(without_echoes(rows))
    lines = list(_folded(once) if folds else map(_line, once))
    shown = _fitting(lines[-MAX_LINES:])
    return shown, len(shown) < len(lines) or len(rows) == most


def _folded(rows: Sequence[TimelineRow]) -> Iterator[LineView]:
    """Return the lines with each fold in the place of its steps."""
    for row, steps in fold_rows(rows):
        shown = [(short_when(step.at), plain(step.text, MAX_STEP)) for step in steps[-MAX_STEPS:]]
        yield _line(row)._replace(steps=shown, omitted=len(steps) - len(shown))


def _line(it: TimelineRow) -> LineView:
    payload = json.dumps(json.loads(it.payload), indent=1)[:MAX_PAYLOAD] if it.payload else ""
    text = it.text.removeprefix(f"run {it.run_id} ")  # a line begins with its run
    return LineView(it.seq, short_when(it.at), it.run_id or "", plain(text, WORDS_CHARS), it.kind, payload)


def _fitting(lines: Sequence[LineView]) -> Sequence[LineView]:
    """Return the last lines, of at most MAX_BYTES of HTML together."""
    room, first = MAX_BYTES, len(lines)
    for line in reversed(lines):
        texts = "".join((line.text, line.payload, *(text for _, text in line.steps)))
        room -= len(escape(texts).encode()) + STEP_BYTES * len(line.steps)
        if room < 0:
            break
        first -= 1
    return lines[first:]
