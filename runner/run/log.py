"""A run's access to the ledger: fenced appends, its history, and the lease of its claim."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import OperationalError

from ledger.codec import encode_event
from ledger.errors import LateWriterError
from ledger.event import Recorded
from ledger.events.run import RunEvent
from ledger.ids import CardId, RunId
from ledger.log import event_store
from ledger.queue import leases
from ledger.queue.leases import Lease
from ledger.rows.folders import SnapshotRow
from ledger.states import Ending, RunState
from ledger.views import cards, checkpoints, folders, runs, workspaces
from ledger.views.checkpoints import CheckpointRow
from ledger.views.workspaces import WorkspaceRow
from runner.exec.deadline import Deadline
from runner.exec.watchdog import Watchdog
from runner.run.exits import StopRequested
from runner.run.heartbeat import Heartbeat
from runner.run.history import History
from runner.run.run_spec import Clock
from runner.run.secrecy import Secrecy

POLL_S = 0.3
AGAIN_S = 0.5  # between two tries while the ledger is away
_PAGE = 500
T = TypeVar("T")


class RunLog:
    """Reads and writes of one claimed run; made by the claimer with the lease that it took.

    `on_append` is called after each committed write. Every method raises StaleClaimError once another
    generation holds the run; the caller must then stop at once. Every renewal moves the deadline of the
    `watchdog`, if there is one. While the ledger is away, writes and looks are tried again until then, for a
    lease's length at most; after that they raise OperationalError.
    """

    def __init__(
        self,
        engine: Engine,
        run_id: RunId,
        lease: Lease,
        clock: Clock,
        *,
        ttl_s: float = 60.0,
        on_append: Callable[[], None] = lambda: None,
        watchdog: Watchdog | None = None,
        heartbeat: Heartbeat | None = None,
    ) -> None:
        self._engine, self._run_id, self._clock, self._ttl_s = engine, run_id, clock, ttl_s
        self._fence = event_store.Fence(lease.name, lease.generation)
        self._lease = lease
        self._on_append, self._watchdog, self._heartbeat = on_append, watchdog, heartbeat
        self.deadline = watchdog.deadline if watchdog else Deadline()  # of the claim
        self._folded_at = clock.monotonic()
        self._renewed = self._folded_at - ttl_s  # the claimer took the lease for longer, or some time ago
        self.history = History()
        self.secrecy = Secrecy()  # that of the specification, once the run is carried out
        self.fold_new()

    @property
    def generation(self) -> int:
        return self._fence.generation

    def append(self, *events: RunEvent) -> None:
        """Append `events` in one transaction while the claim is alive, and fold them into the history."""
        if events:
            redacted = tuple(map(self.secrecy.redact_event, events))
            self._insist(partial(self._append, redacted))
            self._insist(lambda _again: self._on_append())
            self.fold_new()

    def append_unless_requeued(self, *events: RunEvent) -> bool:
        """Append `events` unless the run was requeued meanwhile; return whether they were written.

        An answer can arrive between the question and the parking. Parking after it would leave the run
        asleep.
        """
        redacted = tuple(map(self.secrecy.redact_event, events))
        while True:
            self.fold_new()
            if self.history.state is RunState.QUEUED:
                return False
            try:
                self._insist(partial(self._append, redacted, expected=self.history.version))
            except LateWriterError:
                continue  # each round means that somebody else wrote: it ends when they do
            self._insist(lambda _again: self._on_append())
            self.fold_new()
            return True

    def _append(self, events: tuple[RunEvent, ...], again: bool, expected: int | None = None) -> None:
        with self._writing(renews=self._renewal_is_due()) as db:
            if not (again and self._has(db, events)):
                event_store.append(db, *events, at=self._clock.now(), expected=expected, fence=self._fence)

    def _has(self, db: Connection, events: tuple[RunEvent, ...]) -> bool:
        """Tell whether an append that seemed to fail was committed: nobody else writes such events."""
        late = event_store.read(db, after=self.history.seq, limit=_PAGE, stream=f"run:{self._run_id}")
        own_events = [encode_event(event)[2] for event in events]
        return any(
            [row.event for row in late[at : at + len(own_events)]] == own_events for at in range(len(late))
        )

    def _insist(self, act: Callable[[bool], T]) -> T:
        """Return the result of `act`, repeated while the ledger is away; its argument: it is a repetition."""
        until, again = time.monotonic() + self._ttl_s, False
        while True:
            try:
                return act(again)
            except OperationalError:
                if self.deadline.left_s <= AGAIN_S or time.monotonic() + AGAIN_S >= until:
                    raise
            again = True
            time.sleep(AGAIN_S)

    def fold_new(self) -> None:
        """Fold the events that others appended since the last look."""
        self._folded_at = self._clock.monotonic()
        self._insist(self._fold_new)

    def _fold_new(self, _again: bool) -> None:
        for page in self._pages(after=self.history.seq):
            self.history.take(page)

    def beat(self) -> None:
        """Look and renew the lease when either is due; cheap enough for every turn of a loop."""
        if self._heartbeat is not None:
            self._heartbeat.silence.sign()
        if self._renewal_is_due():
            self._insist(self._renew)
        if self._clock.monotonic() - self._folded_at >= POLL_S:
            self.fold_new()

    def hold(self, for_s: float) -> None:
        """Extend the claim for a step that cannot renew it; the next renewal resets that.

        With a heartbeat the claim itself stays short, and that one renews it for so long.
        """
        if self._heartbeat is not None and self._heartbeat.lives:
            self._heartbeat.silence.allow(for_s)
            for_s = 0.0
        self._insist(partial(self._renew, for_s=for_s))

    @contextmanager
    def holding(self, for_s: float) -> Iterator[None]:
        """Extend the claim for a step as `hold` does, and no longer than the step takes.

        With a heartbeat nothing is written but a renewal that is due.
        """
        self._announce(for_s)
        try:
            yield
        finally:
            self._announce(0)

    def _announce(self, for_s: float) -> None:
        if self._heartbeat is None or not self._heartbeat.lives:
            self.hold(for_s)
        else:
            self._heartbeat.silence.allow(for_s)
            if self._renewal_is_due():
                self._insist(self._renew)

    def _renew(self, _again: bool, for_s: float = 0.0) -> None:
        with self._writing(renews=True, for_s=for_s):
            pass

    def raise_if_stopped(self) -> None:
        """Raise StopRequested when somebody asked for a stop of the run."""
        stop = self.history.stop
        if stop is not None:
            raise StopRequested(stop.how, stop.by)

    def beat_or_stop(self) -> None:
        """Keep the claim alive, and raise StopRequested when somebody asked for a stop."""
        self.beat()
        self.raise_if_stopped()

    def events(self) -> tuple[Recorded, ...]:
        return tuple(recorded for page in self._pages(after=0) for recorded in page)

    def _pages(self, after: int) -> Iterator[tuple[Recorded, ...]]:
        """Yield the run's events after that one, in pages; each page is read in its own transaction."""
        while True:
            with event_store.reading(self._engine) as db:
                page = event_store.read(db, after=after, limit=_PAGE, stream=f"run:{self._run_id}")
            yield page
            if len(page) < _PAGE:
                return
            after = page[-1].seq

    def workspace(self, place: str) -> WorkspaceRow | None:
        """Return the newest claim of that workspace, on any host; None before the first."""
        with event_store.reading(self._engine) as db:
            return workspaces.get(db, place)

    def checkpoint(self, place: str) -> CheckpointRow | None:
        """Return the newest checkpoint of that workspace, by any run; None before the first."""
        with event_store.reading(self._engine) as db:
            return checkpoints.of_place(db, place)

    def snapshot(self, folder: str) -> SnapshotRow | None:
        """Return the snapshot of the run's `folder`, by its present name, on which it works; None without."""
        with event_store.reading(self._engine) as db:
            row = runs.get(db, self._run_id)
            if row is None or not row.folder:
                return folders.newest(db, folder)
            return folders.as_begun(db, row)

    def ending_of(self, run_id: RunId) -> Ending | None:
        with event_store.reading(self._engine) as db:
            row = runs.get(db, run_id)
        return row.ending if row is not None else None

    def pull_is_ready(self, card_id: CardId) -> bool:
        """Whether the card's pull request is up for review: out of draft, and a run finished its work."""
        with event_store.reading(self._engine) as db:
            card = cards.get(db, card_id)
        return card is not None and card.has_open_pull and not (card.pull_draft or card.early_start)

    def _renewal_is_due(self) -> bool:
        return self._clock.monotonic() - self._renewed >= self._ttl_s / 3

    @contextmanager
    def _writing(self, *, renews: bool, for_s: float = 0.0) -> Iterator[Connection]:
        """Give a writing transaction that renews the lease, and move the deadline as far as is certain.

        Raises KilledError when nobody watches the deadline any more.
        """
        if self._watchdog is not None and renews:
            self._watchdog.require()
        ttl_s = max(for_s, self._ttl_s)
        with event_store.writing(self._engine) as db:
            yield db
            if renews:
                sent_at, until = self._clock.monotonic(), self.deadline.of_lease(ttl_s)
                self.deadline.shorten(until)
                self._lease = leases.renew(db, self._lease, ttl_s=ttl_s)
        if renews:
            self.deadline.move(until)
            self._renewed = sent_at
