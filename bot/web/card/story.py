"""A card's story on its page: what people said in full, each run as one chapter, in the order of the log."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import NamedTuple

from markupsafe import Markup, escape
from sqlalchemy import Connection

from bot.render.run.folded_steps import fold_rows, without_echoes
from bot.web.site import markdown
from bot.web.site.times import stamp
from ledger.event import Zoom
from ledger.ids import CardId
from ledger.queries import timeline
from ledger.queries.timeline import MAX_EVENTS, WORDS_CHARS, TimelineRow
from ledger.rows.runs import RunRow
from rules.runs.cost import cost_words
from rules.text import brief, count, kind_of_run, plain, state_word

NONE = Markup()
EFFECTS = frozenset({"PlanRedirected", "QuestionAnswered", "RunSteered"})  # of what a person says
MAX_PAYLOAD = 2000
MAX_LINES = 200
MAX_STEPS, MAX_STEP, STEP_BYTES = 50, 200, 130  # lines of a fold, characters of each, and the HTML around it
LINE_BYTES = 200  # the HTML around a line's text
MAX_BYTES = 34_000  # of the lines: a page stays under 100 kB


class LineView(NamedTuple):
    """A line of the timeline, and the fields of its event.

    A fold has `steps`, each with its time; `omitted` of them are before those. `words` are said by `speaker`.
    """

    seq: int
    at: Markup
    run_id: str
    text: str
    kind: str
    payload: str
    steps: Sequence[tuple[Markup, str]] = ()
    omitted: int = 0
    speaker: str = ""
    words: Markup = NONE


@dataclass(slots=True)
class ChapterView:
    """A run of the story, where its first line stands; `facts` sum it up."""

    run_id: str
    facts: str
    lines: list[LineView] = field(default_factory=list)


def newest_lines(
    db: Connection, card_id: CardId, zoom: Zoom, before: int | None
) -> tuple[Sequence[LineView], bool]:
    """Return the newest lines before an event, the oldest first; and whether older ones are left out."""
    folds = zoom is Zoom.ACTIVITY
    most = MAX_EVENTS if folds else MAX_LINES
    rows = timeline.of_card(db, card_id, zoom, most, before, steps=folds)
    once = rows if zoom is Zoom.DEBUG else tuple(_say_once(without_echoes(rows)))
    lines = list(_fold_lines(once) if folds else map(_line, once))
    if zoom is Zoom.DEBUG:
        lines = [line._replace(words=NONE) for line in lines]  # each event as one line
    shown = _fitting(lines[-MAX_LINES:])
    return shown, len(shown) < len(lines) or len(rows) == most


def _say_once(rows: Iterable[TimelineRow]) -> Iterator[TimelineRow]:
    """Yield the lines; what a comment or command said is part of its effect, not a second message."""
    before = None
    for row in rows:
        said = before.words if before is not None and before.speaker == row.speaker else ""
        is_repeated = row.kind in EFFECTS and (said == row.words or said.endswith(f" {row.words}"))
        yield replace(row, words="") if is_repeated else row
        before = row


def tell(lines: Iterable[LineView], runs: Mapping[str, RunRow]) -> list[LineView | ChapterView]:
    """Return the lines with those of each run in a chapter, but for the words of people and to them."""
    told: list[LineView | ChapterView] = []
    chapters: dict[str, ChapterView] = {}
    for line in lines:
        if line.words or not line.run_id:
            told.append(line)
            continue
        chapter = chapters.get(line.run_id)
        if chapter is None:
            chapter = chapters[line.run_id] = ChapterView(line.run_id, _sum_up(runs.get(line.run_id)))
            told.append(chapter)
        chapter.lines.append(line)
    return told


def _sum_up(run: RunRow | None) -> str:
    """Return what there was in the run, and what it took; empty for one of long ago."""
    if run is None:
        return ""
    numbers = (
        (run.plan_revision, "plan"),
        (run.questions, "question"),
        (run.iteration + run.full_runs, "check"),
        (run.commits, "commit"),
    )
    sums = [count(number, noun) for number, noun in numbers if number]
    took = brief(timedelta(seconds=run.active_s)) if run.active_s else ""
    state = state_word(run.status)
    parts = (
        state,
        kind_of_run(run.attempt, run.kind),
        ", ".join(sums),
        took,
        cost_words(run.usd, run.payer) if run.usd else "",
    )
    return " · ".join(filter(None, parts))


def _fold_lines(rows: Sequence[TimelineRow]) -> Iterator[LineView]:
    """Return the lines with each fold in the place of its steps."""
    for row, steps in fold_rows(rows):
        shown = [(stamp(step.at), plain(step.text, MAX_STEP)) for step in steps[-MAX_STEPS:]]
        yield _line(row)._replace(steps=shown, omitted=len(steps) - len(shown))


def _line(row: TimelineRow) -> LineView:
    payload = json.dumps(json.loads(row.payload), indent=1)[:MAX_PAYLOAD] if row.payload else ""
    text = row.text.removeprefix(f"run {row.run_id} ")  # a line begins with its run
    words = markdown.render(row.words) if row.words else NONE
    return LineView(
        seq=row.seq,
        at=stamp(row.at),
        run_id=row.run_id or "",
        text=plain(text, WORDS_CHARS),
        kind=row.kind,
        payload=payload,
        speaker=plain(row.speaker),
        words=words,
    )


def _fitting(lines: Sequence[LineView]) -> Sequence[LineView]:
    """Return the last lines, of at most MAX_BYTES of HTML together."""
    room, first = MAX_BYTES, len(lines)
    for line in reversed(lines):
        texts = "".join((line.payload, *(text for _, text in line.steps)))
        room -= len(escape(texts).encode()) + len((line.words or escape(line.text)).encode())
        room -= LINE_BYTES + STEP_BYTES * len(line.steps)
        if room < 0:
            break
        first -= 1
    return lines[first:]
