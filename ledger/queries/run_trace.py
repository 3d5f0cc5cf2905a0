"""What a trace of a run is made of: all of it is in the log once the run has ended."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, select

from ledger.codec import decode
from ledger.db.statements import statement
from ledger.db.tables import events
from ledger.event import Recorded
from ledger.events.board import CardMoved
from ledger.events.pull import PullChanged
from ledger.events.run import CommandChecked, RunEnded
from ledger.ids import RunId
from ledger.log import event_store
from ledger.queries.run_spans import RunSpan, RunStory
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.states import Door
from ledger.views import cards, runs

ENDS = (RunEnded.__name__, PullChanged.__name__)  # the events that end a run, or the wait for its review
MAX_COMMANDS, MAX_MOVES = 500, 100


@dataclass(frozen=True, slots=True)
class CommandTime:
    """A command of the checks that ended at `at`; `seq` is that of its event."""

    seq: int
    at: datetime
    checked: CommandChecked


@dataclass(frozen=True, slots=True)
class RunTrace:
    """A run that has ended. `seed` is the same for this run whenever it is read, and for no other one.

    `reviewed_at` is when its pull request was merged, None where the trace is of the run itself. `told_at` is
    when Cardinal was told of the drag that began it, None for a run without one.
    """

    seed: str
    run: RunRow
    card: CardRow | None
    spans: tuple[RunSpan, ...] = ()
    commands: tuple[CommandTime, ...] = ()
    reviewed_at: datetime | None = None
    told_at: datetime | None = None


@statement
def _select_seed(stream: Any) -> Select[Any]:
    return select(events.c.digest).where(events.c.stream == stream).order_by(events.c.version).limit(1)


@statement
def _select_commands(stream: Any, kind: Any, most: Any) -> Select[Any]:
    mine = select(events.c.seq, events.c.at, events.c.kind, events.c.body)
    mine = mine.where(events.c.stream == stream, events.c.kind == kind)
    return mine.order_by(events.c.version).limit(most)


def list_ends(db: Connection, *, after: int, until: int, limit: int) -> tuple[Recorded, ...]:
    """Return at most `limit` events that end a run or a review, later than `after` and up to `until`."""
    return event_store.read_kinds(db, ENDS, after=after, until=until, limit=limit)


def of_end(db: Connection, end: Recorded) -> RunTrace | None:
    """Return what the event lets be traced: the run that ended, or its review; None for nothing."""
    match end.event:
        case RunEnded(run_id=run_id):
            return _read(db, run_id)
        case PullChanged(card_id=card_id, state="merged"):
            card = cards.get(db, card_id)
            run = runs.get(db, card.run_id) if card and card.run_id else None
            if run is None or run.ended_at is None or run.ended_at > end.at:
                return None  # it ends later, or nobody waited
            return RunTrace(_seed(db, run.run_id), run, card, reviewed_at=end.at)
    return None


def _read(db: Connection, run_id: RunId) -> RunTrace | None:
    run = runs.get(db, run_id)
    if run is None or run.ended_at is None:
        return None
    stream, kind = f"run:{run_id}", CommandChecked.__name__
    rows = _select_commands.all(db, {"stream": stream, "kind": kind, "most": MAX_COMMANDS})
    decoded = ((seq, at, decode(name, body)) for seq, at, name, body in rows)
    commands = (CommandTime(seq, at, it) for seq, at, it in decoded if isinstance(it, CommandChecked))
    spans = RunStory().read_more(db, stream)
    card, told_at = cards.get(db, run.card_id), _find_drag(db, run)
    return RunTrace(_seed(db, run_id), run, card, spans, tuple(commands), told_at=told_at)


def _find_drag(db: Connection, run: RunRow) -> datetime | None:
    if run.door != Door.BOARD:
        return None
    moves = event_store.newest_of(db, f"card:{run.card_id}", CardMoved, MAX_MOVES)
    before = (move for at, move in moves if at <= run.queued_at)
    move = next(before, None)
    return move.told_at if move is not None and move.after == run.column else None


def _seed(db: Connection, run_id: RunId) -> str:
    return _select_seed.scalar(db, {"stream": f"run:{run_id}"}) or ""
