"""What stands still on a board: acts, runs and decisions that nothing moves any more."""

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, and_, literal, literal_column, or_, select

from ledger.db.tables import events, outbox
from ledger.ids import CardId, RunId
from ledger.queries.card_filter import CardScope, in_sight
from ledger.queue.outbox import OPEN, SHUT_OUT
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

    Without a card it is about the board.
    """

    kind: StandstillKind
    card_id: CardId | None
    repository: str | None
    number: int | None
    title: str | None
    run_id: RunId | None
    about: str
    because: str
    since: datetime


def of_board(db: Connection, scope: CardScope, now: datetime, limit: int) -> tuple[Standstill, ...]:
    """Return what stands still on the board, at most `limit` of each sort, the oldest first.

    Of cards only those in the scope; what is about the board itself is always there.
    """
    board = _Board(scope, now, limit)
    sorts = [board.acts(), board.given_up(), board.silent(), board.unanswered(), board.undecided()]
    if stalls.counts(db).get(scope.board_id):
        sorts.append(board.unstarted())
    return tuple(it for query in sorts for it in _read(db, query))


def _read(db: Connection, query: Select[Any]) -> Iterator[Standstill]:
    for kind, *fields in db.execute(query):
        it = Standstill(StandstillKind(kind), *fields)
        out = it.kind is StandstillKind.UNDONE and it.because == SHUT_OUT
        yield it._replace(kind=StandstillKind.SHUT_OUT) if out else it


class _Board(NamedTuple):
    """One board's queries."""

    scope: CardScope
    now: datetime
    limit: int

    def acts(self) -> Select[Any]:
        fields = outbox.c.act, outbox.c.error, outbox.c.created_at
        late = and_(_in(outbox.c.state, OPEN), outbox.c.created_at < self.now - UNDONE_AFTER)
        return self._about(outbox, StandstillKind.UNDONE, *fields).where(late).order_by(outbox.c.entry_id)

    def given_up(self) -> Select[Any]:
        it = remotes.failures
        return self._about(it, StandstillKind.GIVEN_UP, it.c.act, it.c.because, it.c.at).order_by(it.c.at)

    def undecided(self) -> Select[Any]:
        it = failures.failures
        return self._about(it, StandstillKind.UNDECIDED, it.c.of, it.c.because, it.c.at).order_by(it.c.seq)

    def silent(self) -> Select[Any]:
        return self._runs(StandstillKind.NO_STEP, runs.c.last_line, RUN_HELD, NO_STEP_AFTER)

    def unanswered(self) -> Select[Any]:
        return self._runs(StandstillKind.UNANSWERED, cards.c.because, _PARKED, UNANSWERED_AFTER)

    def unstarted(self) -> Select[Any]:
        query = self._runs(StandstillKind.NO_WORKER, cards.c.because, (RunState.QUEUED,), STALLED_AFTER)
        return query.where(runs.c.card_id.not_in(links.held()))

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
        fields = _fields(kind, runs.c.state, because, newest.label("since"))
        query = select(*fields).select_from(runs.join(cards, cards.c.card_id == runs.c.card_id))
        mine = query.where(_in(runs.c.state, states), newest < self.now - after, in_sight([self.scope]))
        return mine.order_by("since").limit(self.limit)

    def _about(self, source: Any, kind: StandstillKind, *fields: ColumnElement[Any]) -> Select[Any]:
        """Select rows of a table that names a card, or the board itself."""
        joined = source.outerjoin(cards, cards.c.card_id == source.c.card_id)
        joined = joined.outerjoin(runs, runs.c.run_id == cards.c.run_id)
        query = select(*_fields(kind, *fields)).select_from(joined)
        return query.where(or_(in_sight([self.scope]), source.c.card_id == self.scope.board_id)).limit(
            self.limit
        )


def _fields(kind: StandstillKind, *about: ColumnElement[Any]) -> tuple[ColumnElement[Any], ...]:
    card = cards.c.card_id, cards.c.repository, cards.c.number, cards.c.title
    return literal(kind.value), *card, runs.c.run_id, *about


def _in(column: ColumnElement[Any], states: Collection[str]) -> ColumnElement[bool]:
    """Return the condition spelt out: SQLite sees a partial index behind no parameter."""
    return column.in_([literal_column(f"'{state}'") for state in states])
