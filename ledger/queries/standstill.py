"""Standstills of a board: acts, runs and decisions that nothing moves any more."""

from collections.abc import Collection
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, and_, func, literal, literal_column, or_, select

from ledger.db.tables import events, outbox
from ledger.ids import CardId, RunId
from ledger.queries import run_queue
from ledger.queries.card_filter import CardScope, in_sight, within, within_of_run
from ledger.queue.outbox import OPEN, SHUT_OUT, STOPPED
from ledger.states import RUN_HELD, RunState
from ledger.views import failures, links, remotes, stalls
from ledger.views.cards import cards
from ledger.views.runs import runs

UNDONE_AFTER = timedelta(minutes=5)
NO_STEP_AFTER = timedelta(minutes=30)  # of a run at work; its agent may think, its checks may take long
UNANSWERED_AFTER = timedelta(days=1)
STALLED_AFTER = timedelta(minutes=1)  # a worker that lives takes a run within a second
_PARKED = (RunState.PARKED, RunState.AWAITING_APPROVAL)


class StandstillKind(StrEnum):
    """Why something stands still."""

    SHUT_OUT = "no access"
    UNDONE = "not done yet"
    GIVEN_UP = "given up"
    NO_STEP = "no step"
    UNANSWERED = "unanswered"
    NO_WORKER = "starts nowhere"
    UNDECIDED = "not decided"


class Standstill(NamedTuple):
    """One thing that stands still since `since`. `about` is the act, the run's state or the event's kind.

    Without a card it is about the board. An `archived` card is on no list.
    """

    kind: StandstillKind
    card_id: CardId | None
    archived: bool | None
    repository: str | None
    number: int | None
    title: str | None
    run_id: RunId | None
    about: str
    because: str
    since: datetime


class StandstillSort(NamedTuple):
    """The oldest things of one kind, and how many there are in all."""

    oldest: tuple[Standstill, ...]
    total: int


def board_standstills(
    db: Connection, scope: CardScope, now: datetime, limit: int
) -> tuple[StandstillSort, ...]:
    """Return the standstills of the board by their kind, at most `limit` of each, the oldest first.

    Of cards only those in the scope; those of the board itself are always there.
    """
    board = _Board(scope, now, limit)
    queries = [board.shut_out(), board.select_undone(), board.select_given_up()]
    queries += [board.silent(), board.select_unanswered(), board.select_undecided()]
    if stalls.counts(db).get(scope.board_id):
        queries.append(board.select_unstarted())
    sorts = (_read(db, query) for query in queries)
    return tuple(standstill_sort for standstill_sort in sorts if standstill_sort.total)


def _read(db: Connection, query: Select[Any]) -> StandstillSort:
    rows = db.execute(query).all()
    oldest = tuple(Standstill(StandstillKind(kind), *fields) for _, kind, *fields in rows)
    return StandstillSort(oldest, rows[0][0] if rows else 0)


class _Board(NamedTuple):
    """One board's queries."""

    scope: CardScope
    now: datetime
    limit: int

    def shut_out(self) -> Select[Any]:
        return self._acts(StandstillKind.SHUT_OUT).where(outbox.c.error == SHUT_OUT)

    def select_undone(self) -> Select[Any]:
        return self._acts(StandstillKind.UNDONE).where(outbox.c.error.not_in([SHUT_OUT, STOPPED]))

    def select_given_up(self) -> Select[Any]:
        it, on_list = remotes.failures, in_sight([self.scope])
        query = self._about(it, on_list, StandstillKind.GIVEN_UP, it.c.act, it.c.because, it.c.at)
        return query.where(~it.c.declined).order_by(it.c.at)

    def select_undecided(self) -> Select[Any]:
        it, on_list = failures.failures, in_sight([self.scope])
        query = self._about(it, on_list, StandstillKind.UNDECIDED, it.c.of, it.c.because, it.c.at)
        return query.order_by(it.c.seq)

    def silent(self) -> Select[Any]:
        return self._runs(StandstillKind.NO_STEP, runs.c.last_line, RUN_HELD, NO_STEP_AFTER)

    def select_unanswered(self) -> Select[Any]:
        return self._runs(StandstillKind.UNANSWERED, cards.c.because, _PARKED, UNANSWERED_AFTER)

    def select_unstarted(self) -> Select[Any]:
        query = self._runs(StandstillKind.NO_WORKER, cards.c.because, (RunState.QUEUED,), STALLED_AFTER)
        return query.where(runs.c.card_id.not_in(links.select_held_cards()), ~run_queue.waits_for_parts())

    def _acts(self, kind: StandstillKind) -> Select[Any]:
        fields = outbox.c.act, outbox.c.error, outbox.c.created_at
        late = and_(_in(outbox.c.state, OPEN), outbox.c.created_at < self.now - UNDONE_AFTER)
        return self._about(outbox, within(self.scope), kind, *fields).where(late).order_by(outbox.c.entry_id)

    def _runs(
        self,
        kind: StandstillKind,
        because: ColumnElement[Any],
        states: tuple[RunState, ...],
        after: timedelta,
    ) -> Select[Any]:
        """Select runs in that state whose newest event is older than `after`."""
        newest = (
            select(events.c.at)
            .where(events.c.stream == literal("run:").concat(runs.c.run_id))
            .order_by(events.c.version.desc())
            .limit(1)
            .scalar_subquery()
        )
        fields = _fields(kind, runs.c.run_id, runs.c.state, because, newest.label("since"))
        query = select(*fields).select_from(runs.join(cards, cards.c.card_id == runs.c.card_id))
        mine = query.where(_in(runs.c.state, states), newest < self.now - after, within_of_run(self.scope))
        return mine.order_by("since").limit(self.limit)

    def _about(
        self, source: Any, mine: ColumnElement[bool], kind: StandstillKind, *fields: ColumnElement[Any]
    ) -> Select[Any]:
        """Select rows of a table that names a card, or the board itself."""
        joined = source.outerjoin(cards, cards.c.card_id == source.c.card_id)
        query = select(*_fields(kind, cards.c.run_id, *fields)).select_from(joined)
        return query.where(or_(mine, source.c.card_id == self.scope.board_id)).limit(self.limit)


def _fields(kind: StandstillKind, *about: ColumnElement[Any]) -> tuple[ColumnElement[Any], ...]:
    card = cards.c.card_id, cards.c.archived, cards.c.repository, cards.c.number, cards.c.title
    return func.count().over(), literal(kind.value), *card, *about


def _in(column: ColumnElement[Any], states: Collection[str]) -> ColumnElement[bool]:
    """Return the condition spelt out: SQLite sees a partial index behind no parameter."""
    return column.in_([literal_column(f"'{state}'") for state in states])
