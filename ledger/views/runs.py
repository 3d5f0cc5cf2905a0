"""Every run as it is now, folded from its stream; and the queue of those that may start."""

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Index,
    Integer,
    Select,
    Table,
    and_,
    bindparam,
    case,
    func,
    select,
    text,
)

from ledger.db.column_types import Moment, storable
from ledger.db.rows import (
    add,
    all_rows,
    change,
    columns,
    fields_for,
    find,
    list_rows,
    pick,
    record,
    rename_values,
    setter,
    value,
    values,
)
from ledger.db.statements import WHERE, Statement, statement
from ledger.db.tables import VIEWS
from ledger.errors import IllegalStepError
from ledger.event import Event, Recorded
from ledger.events import run as happened
from ledger.events.access import RepositoryMoved
from ledger.events.board import CardConverted, ColumnRanked, ColumnsChanged
from ledger.events.branch import RunChosen
from ledger.events.preference import RunReordered
from ledger.events.run import CHECK, CHOSEN, RERUN
from ledger.events.turn import TurnStarted
from ledger.events.workspace import Checkpointed, FolderKept
from ledger.fold import Fold
from ledger.ids import NO_RUN, BoardId, CardId, RunId
from ledger.model.run_modes import key_of_folder
from ledger.queue import restored
from ledger.rows.runs import RunRow
from ledger.states import RUN_HELD, RunKind, RunState, StopKind, check_run_step
from ledger.views.cards import UNRANKED, cards, show_run_on_card

_QUEUED = text("state = 'queued'")
_HELD = text(f"state IN ({', '.join(repr(state.value) for state in RUN_HELD)})")


@dataclass(frozen=True, slots=True)
class QueuedRow:
    """A run in the queue: enough to say whether it may start. `rank` is its card's place in the column."""

    run_id: RunId
    card_id: CardId
    board_id: BoardId
    column: str
    repository: str
    rank: int
    attempt: int
    kind: RunKind
    mode: str
    folder: str
    agent: str
    queued_at: datetime
    stop_asked: StopKind
    reclaims: int


_PARKED = text("state IN ('parked', 'awaiting_approval')")

runs = Table(
    "view_runs",
    VIEWS,
    *columns(RunRow, "run_id", long=("settings", "asked", "detail", "plan_steps")),
    Column("serial", BigInteger, nullable=False),  # counts the runs of the whole ledger
    Column("ahead", Integer, nullable=False, default=0),  # what its priority adds to its rank
    Index("view_runs_serial", "serial", unique=True),
    Column("card_created_at", Moment, nullable=False),
    Index("view_runs_card", "card_id", "serial"),
    Index("view_runs_work", "board_id", "repository", "card_created_at"),
    Index("view_runs_parked", "serial", info={WHERE: _PARKED}),
    Index("view_runs_held", "board_id", info={WHERE: _HELD}),
    Index("view_runs_queue", "board_id", "column", "rank", "serial", info={WHERE: _QUEUED}),
)
IS_ATTEMPT = and_(runs.c.kind != CHECK, runs.c.kind != RERUN)  # at its card
fold = Fold()
# Who plays it, as people name them: a specialist, an agent with its model, else the agent.
PLAYER = case((runs.c.played_by != "", func.ltrim(runs.c.played_by, "@")), else_=runs.c.agent)
SPAN = 10 * UNRANKED  # between the ranks of two priorities: more than any place in a column
_STOP = ("stop_asked", "stop_by", "stop_why")
_SERIAL = Statement(select(func.max(runs.c.serial)))
_BY_HOST = Statement(select(runs.c.host, func.count()).where(_HELD).group_by(runs.c.host))
IS_LIVE = (_QUEUED, _HELD, _PARKED)  # of which one holds, each with its own index
_BY_STATE = tuple(
    Statement(select(runs.c.state, func.count()).where(condition).group_by(runs.c.state))
    for condition in IS_LIVE
)
# Ordered by what no index has: SQLite would walk through all runs by their serial.
_ALL_HELD = Statement(pick(RunRow, runs).where(_HELD).order_by(runs.c.serial + 0))
_ALL_PARKED = Statement(pick(RunRow, runs).where(_PARKED).order_by(runs.c.serial))
_RANK = Statement(
    runs.update()
    .where(runs.c.card_id == bindparam("of"), _QUEUED)
    .values(rank=runs.c.ahead + bindparam("place"))
)


@statement
def _select_held(board_id: Any) -> Select[Any]:
    return pick(RunRow, runs).where(_HELD, runs.c.board_id == board_id).order_by(runs.c.serial)


@statement
def _select_places_held(board_id: Any) -> Select[Any]:
    return pick(QueuedRow, runs).where(_HELD, runs.c.board_id == board_id).order_by(runs.c.serial)


@statement
def _place_of(card_id: Any) -> Select[Any]:
    return select(cards.c.board_id, cards.c.rank, cards.c.created_at).where(cards.c.card_id == card_id)


def get(db: Connection, run_id: RunId) -> RunRow | None:
    return find(db, RunRow, runs, run_id=run_id)


def next_id(db: Connection) -> RunId:
    """Return the id for a run to be queued in this writing transaction."""
    return RunId(f"r{max(_next_serial(db), restored.highest_run_number(db) + 1)}")


def of_card(db: Connection, card_id: CardId, limit: int = 20) -> tuple[RunRow, ...]:
    """Return the card's newest runs, newest first."""
    return list_rows(db, RunRow, runs, "-serial", limit=limit, card_id=card_id)


def list_hosts_of_card(db: Connection, card_id: CardId) -> frozenset[str]:
    """Return where the card's runs worked, all of them."""
    return frozenset(values(db, runs.c.repository, card_id=card_id))


def newest(db: Connection, limit: int) -> tuple[RunRow, ...]:
    """Return the newest runs of the whole ledger, newest first."""
    return list_rows(db, RunRow, runs, "-serial", limit=limit)


def list_queued(
    db: Connection, board_id: BoardId | None = None, column: str | None = None, limit: int = 200
) -> tuple[QueuedRow, ...]:
    """Return the queue's head by column, the card's place there, then age; of one board or column."""
    which = (board_id is not None, column is not None)
    return all_rows(db, QueuedRow, _queue(*which), board_id=board_id, column=column, most=limit)


@cache
def _queue(of_board: bool, of_column: bool) -> Statement:
    query = pick(QueuedRow, runs).where(_QUEUED)
    query = query.where(runs.c.board_id == bindparam("board_id")) if of_board else query
    query = query.where(runs.c.column == bindparam("column")) if of_column else query
    order = (runs.c.board_id, runs.c.column, runs.c.rank, runs.c.serial)
    return Statement(query.order_by(*order).limit(bindparam("most")))


def list_held(db: Connection, board_id: BoardId | None = None) -> tuple[RunRow, ...]:
    """Return the runs that a worker holds, the oldest first."""
    if board_id is None:
        return all_rows(db, RunRow, _ALL_HELD)
    return all_rows(db, RunRow, _select_held, board_id=board_id)


def list_places_held(db: Connection, board_id: BoardId) -> tuple[QueuedRow, ...]:
    """Return the same runs with no more than what limits count."""
    return all_rows(db, QueuedRow, _select_places_held, board_id=board_id)


def count_held_by_host(db: Connection) -> dict[str, int]:
    """Return how many runs the workers of each host hold, over all boards."""
    return {host: count for host, count in _BY_HOST.all(db, {})}


def count_by_state(db: Connection) -> dict[RunState, int]:
    """Return how many runs are in each state but the last: those that ended are not counted."""
    counts = {state: 0 for state in RunState if state is not RunState.ENDED}
    return counts | {state: count for query in _BY_STATE for state, count in query.all(db, {})}


def list_parked(db: Connection) -> tuple[RunRow, ...]:
    """Return the runs that wait for a person, the oldest first."""
    return all_rows(db, RunRow, _ALL_PARKED)


def check(db: Connection, event: Event) -> None:
    """Raise IllegalStepError when `event` asks a known run for a step that its table does not have."""
    after = state_after(event)
    if after is None or not isinstance(event, happened.RunEvent):
        return
    state = value(db, runs.c.state, run_id=event.run_id)
    if state is None:
        return
    if isinstance(event, happened.RunStepped) and event.before is not state:
        raise IllegalStepError(f"a run that is {state}", event.before, event.after)
    check_run_step(state, after)


def state_after(event: Event) -> RunState | None:
    """Return the state of a run after the event; None where the event leaves it as it is."""
    return event.after if isinstance(event, happened.RunStepped) else event.leads_to


def _number_of(run_id: RunId) -> int:
    """Return the number in the run's name: those of a time that a restored ledger lost leave gaps."""
    number = run_id.removeprefix("r")
    return int(number) if number.isascii() and number.isdigit() else 0


def _next_serial(db: Connection) -> int:
    return (_SERIAL.scalar(db, {}) or 0) + 1


@fold.on(RepositoryMoved)
def _fold_repository_moved(db: Connection, _recorded: Recorded, event: RepositoryMoved) -> None:
    change(db, runs, {"repository": event.before}, repository=event.after)
    change(db, cards, {"work_repository": event.before}, work_repository=event.after)
    rename_folders(db, runs.c.folder, event)


def rename_folders(db: Connection, column: Column[Any], event: RepositoryMoved) -> None:
    """Give the folders of a repository that was renamed their new names, in a column of folders' names."""
    names = (event.before, event.after)
    before, after = (storable(key_of_folder(event.board_id, name, "")) for name in names)
    mine = column.startswith(before, autoescape=True)
    db.execute(column.table.update().where(mine).values({column: func.replace(column, before, after)}))


@fold.on(CardConverted)
def _fold_card_converted(db: Connection, _recorded: Recorded, event: CardConverted) -> None:
    if event.before:
        there = {"card_id": event.card_id, "repository": event.before}
        change(db, runs, there, repository=event.repository)


@fold.on(happened.RunQueued)
def _fold_run_queued(db: Connection, recorded: Recorded, event: happened.RunQueued) -> None:
    if value(db, runs.c.run_id, run_id=event.run_id) is not None:
        return  # never appended: `check` refuses it
    unknown = ("", UNRANKED, recorded.at)
    board_id, rank, created_at = _place_of.first(db, {"card_id": event.card_id}) or unknown
    ahead = event.priority.precedence * SPAN
    place = {"board_id": board_id, "rank": ahead + rank, "ahead": ahead, "card_created_at": created_at}
    place["serial"] = max(_next_serial(db), _number_of(event.run_id))
    record(db, runs, recorded, state=RunState.QUEUED, queued_at=recorded.at, **place)


@fold.on(happened.RunClaimed)
def _fold_run_claimed(db: Connection, recorded: Recorded, event: happened.RunClaimed) -> None:
    claim = {"generation": event.generation, "worker": event.worker, "host": event.host}
    _set(db, event, state=RunState.CLAIMED, claimed_at=recorded.at, hung_s=0.0, **claim)


@fold.on(happened.RunStepped)
def _fold_run_stepped(db: Connection, _recorded: Recorded, event: happened.RunStepped) -> None:
    publishes = event.after is RunState.PUBLISHING
    # Its worker lives, and goes back before it has pushed; of a dead one nobody knows.
    known = {"pushing": publishes} if publishes or event.before is RunState.PUBLISHING else {}
    _set(db, event, state=event.after, **known)


@fold.on(happened.RunParked)
def _fold_run_parked(db: Connection, _recorded: Recorded, event: happened.RunParked) -> None:
    known = {} if event.why == "pause" else {"pushing": False}  # it asks before it pushes
    _set(db, event, state=RunState.PARKED, parked_why=event.why, **known)


@fold.on(happened.RunRequeued)
def _fold_run_requeued(db: Connection, recorded: Recorded, event: happened.RunRequeued) -> None:
    run = get(db, event.run_id)
    if run is None:
        return
    # Nobody let go on what only lost its worker: a pause outlives that.
    let_go = run.stop_asked is StopKind.PAUSE and event.why not in ("reclaimed", "handed_back")
    dropped = dict.fromkeys(_STOP, "") if let_go else {}
    # In a row: a run that people have let go on since has shown that it can live.
    by_itself = {"reclaimed": run.reclaims + 1, "handed_back": run.reclaims}
    again = by_itself.get(event.why, 0)
    _, rank, _ = _place_of.first(db, {"card_id": run.card_id}) or ("", UNRANKED, recorded.at)
    rank += run.priority.precedence * SPAN
    _set(db, event, state=RunState.QUEUED, parked_why="", rank=rank, reclaims=again, **dropped)


@fold.on(RunReordered)
def _fold_run_reordered(db: Connection, _recorded: Recorded, event: RunReordered) -> None:
    ahead, before = event.priority.precedence * SPAN, value(db, runs.c.ahead, run_id=event.run_id) or 0
    add(db, runs, {"run_id": event.run_id}, rank=ahead - before)
    _set(db, event, priority=event.priority, ahead=ahead)


@fold.on(RunChosen)
def _fold_run_chosen(db: Connection, _recorded: Recorded, event: RunChosen) -> None:
    change(db, runs, {"run_id": event.run_id}, kind=CHOSEN, again_of=NO_RUN)
    run = get(db, event.run_id)
    if run is not None:
        change(db, cards, {"card_id": event.card_id}, **show_run_on_card(run), cause=run.cause)


fold.on(happened.RunHung)(setter(runs, lambda e: {"hung_s": e.silent_s}, "run_id"))


@fold.on(happened.RunEnded)
def _fold_run_ended(db: Connection, recorded: Recorded, event: happened.RunEnded) -> None:
    how = {name: getattr(event, name) for name in ("reason", "detail", "last_known", "cause")}
    end = {"ending": event.counts_as, "state": RunState.ENDED, "ended_at": recorded.at, "kept": event.commits}
    _set(db, event, question_id="", parked_why="", **how, **end)
    if event.cause:
        change(db, cards, {"run_id": event.run_id}, cause=event.cause)


fold.on(happened.RunStopAsked)(
    setter(runs, lambda e: {"stop_asked": e.how, "stop_by": e.by, "stop_why": e.why}, "run_id")
)
fold.on(happened.SessionStarted)(
    setter(runs, lambda e: {"session_id": e.session_id, "agent_version": e.version}, "run_id")
)
fold.on(TurnStarted)(setter(runs, lambda e: {"agent_started": True, "payer": e.payer}, "run_id"))


@fold.on(happened.PlanProposed)
def _fold_plan_proposed(db: Connection, _recorded: Recorded, event: happened.PlanProposed) -> None:
    plan = {"plan_revision": event.revision, "plan_steps": event.steps}
    _set(db, event, **plan, plan_done=0, plan_approved=False, plan_approved_by="")


@fold.on(happened.PlanApproved)
def _fold_plan_approved(db: Connection, _recorded: Recorded, event: happened.PlanApproved) -> None:
    mine = {"run_id": event.run_id, "plan_revision": event.revision}
    change(db, runs, mine, plan_approved=True, plan_approved_by=event.by)


fold.on(happened.PlanRedirected)(
    setter(runs, lambda _: {"plan_approved": False, "plan_approved_by": ""}, "run_id")
)
fold.on(happened.PlanTicked)(setter(runs, lambda e: {"plan_done": e.done}, "run_id"))
fold.on(happened.Progressed)(setter(runs, lambda e: {"last_line": e.text}, "run_id"))


@fold.on(happened.QuestionAsked)
def _fold_question_asked(db: Connection, _recorded: Recorded, event: happened.QuestionAsked) -> None:
    _set(db, event, question_id=event.question_id)
    add(db, runs, {"run_id": event.run_id}, questions=1)


@fold.on(happened.Noted)
def _fold_noted(db: Connection, _recorded: Recorded, event: happened.Noted) -> None:
    add(db, runs, {"run_id": event.run_id}, notes=1)


fold.on(happened.QuestionAnswered)(setter(runs, lambda _: {"question_id": ""}, "run_id", "question_id"))


@fold.on(happened.ValidationEnded)
def _fold_validation_ended(db: Connection, _recorded: Recorded, event: happened.ValidationEnded) -> None:
    _set(db, event, iteration=event.iteration)
    add(db, runs, {"run_id": event.run_id}, full_runs=int(event.tier == "full"))


@fold.on(Checkpointed)
def _fold_checkpointed(db: Connection, _recorded: Recorded, event: Checkpointed) -> None:
    if event.patch or not event.left_out:  # of a change that was not measured yet
        change(db, runs, {"run_id": event.run_id, "head": ""}, files_changed=event.files_changed)


fold.on(happened.BranchExported)(setter(runs, lambda e: fields_for(runs, e), "run_id"))
fold.on(FolderKept)(
    setter(runs, lambda e: {"files_changed": e.files_changed, "lines_changed": e.lines_changed}, "run_id")
)
fold.on(happened.BranchPushed)(setter(runs, lambda e: {"pushed_head": e.head, "pushing": False}, "run_id"))


@fold.on(ColumnsChanged)
def _fold_columns_changed(db: Connection, _recorded: Recorded, event: ColumnsChanged) -> None:
    if now := {column.before: column.after for column in event.renamed}:
        condition = (runs.c.board_id == event.board_id) & runs.c.column.in_(tuple(now))
        db.execute(runs.update().where(condition).values(column=rename_values(runs.c.column, now)))


@fold.on(ColumnRanked)
def _fold_column_ranked(db: Connection, _recorded: Recorded, event: ColumnRanked) -> None:
    if event.order:
        _RANK.run_all(db, [{"of": card_id, "place": place} for place, card_id in enumerate(event.order)])


def _set(db: Connection, event: happened.RunEvent, **values: object) -> None:
    change(db, runs, {"run_id": event.run_id}, **values)
