"""A run's way to the ledger: fenced appends, its own history, and the lease that keeps others away."""

from collections.abc import Callable
from datetime import datetime

from sqlalchemy import Connection, Engine

from ledger.errors import LateWriterError
from ledger.event import Recorded
from ledger.events.run import RunEvent, RunStopAsked
from ledger.ids import RunId
from ledger.log import event_store
from ledger.queue import leases
from ledger.queue.leases import Lease
from ledger.states import RunState
from runner.run.history import History
from runner.run.run_spec import Clock
from runner.run.secrecy import Secrecy

LOOK_S = 0.3
_PAGE = 500


class RunLog:
    """What the supervisor of one claimed run reads and writes; made by the claimer with the lease it took.

    `on_append` is called after each write that is committed. Every method raises StaleClaimError once
    another generation holds the run; the caller must then stop at once.
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
    ) -> None:
        self._engine, self._run_id, self._clock, self._ttl_s = engine, run_id, clock, ttl_s
        self._fence = event_store.Fence(lease.name, lease.generation)
        self._lease = lease
        self._on_append = on_append
        self._looked = clock.monotonic()
        self._renewed = self._looked - ttl_s  # the claimer took the lease for longer, or some time ago
        self.history = History()
        self.secrecy = Secrecy()  # that of the order, once it is carried out
        self.look()

    @property
    def generation(self) -> int:
        """The generation of the claim."""
        return self._fence.generation

    def append(self, *events: RunEvent) -> None:
        """Write `events` in one transaction, only while the claim is alive; the history knows them then."""
        if events:
            told = tuple(map(self.secrecy.redact_event, events))
            with event_store.writing(self._engine) as db:
                event_store.append(db, *told, at=self._now(), fence=self._fence)
                self._renew(db)
            self._on_append()
            self.look()

    def append_unless_requeued(self, *events: RunEvent) -> bool:
        """Write `events` only while the run is still held; False when somebody let it go on meanwhile.

        An answer can arrive between the question and the parking: parking after it would leave the run
        asleep.
        """
        told = tuple(map(self.secrecy.redact_event, events))
        while True:
            self.look()
            if self.history.state is RunState.QUEUED:
                return False
            try:
                with event_store.writing(self._engine) as db:
                    event_store.append(
                        db, *told, at=self._now(), expected=self.history.version, fence=self._fence
                    )
            except LateWriterError:
                continue  # each round means that somebody else wrote: it ends when they do
            self._on_append()
            self.look()
            return True

    def look(self) -> None:
        """Read what others wrote about this run since the last look."""
        self._looked = self._clock.monotonic()
        while True:
            with event_store.reading(self._engine) as db:
                page = event_store.read(db, after=self.history.seq, limit=_PAGE, stream=f"run:{self._run_id}")
            self.history.take(page)
            if len(page) < _PAGE:
                return

    def beat(self) -> None:
        """Look and renew the lease when either is due; cheap enough for every turn of a loop."""
        if self._renewal_is_due():
            with event_store.writing(self._engine) as db:
                self._renew(db)
        if self._clock.monotonic() - self._looked >= LOOK_S:
            self.look()

    def hold(self, for_s: float) -> None:
        """Make the claim last for so long although nothing renews it; the next renewal takes that back."""
        with event_store.writing(self._engine) as db:
            self._lease = leases.renew(db, self._lease, now=self._now(), ttl_s=max(for_s, self._ttl_s))

    def stop_asked(self) -> RunStopAsked | None:
        """Return the order to stop, if one stands."""
        return self.history.stop

    def steering(self) -> dict[int, str]:
        """Return people's messages that the agent has not heard, by comment id, oldest first."""
        return dict(self.history.steering)

    def events(self) -> tuple[Recorded, ...]:
        """Return the whole stream of the run."""
        found: tuple[Recorded, ...] = ()
        while True:
            with event_store.reading(self._engine) as db:
                page = event_store.read(
                    db, after=found[-1].seq if found else 0, limit=_PAGE, stream=f"run:{self._run_id}"
                )
            found += page
            if len(page) < _PAGE:
                return found

    def _renewal_is_due(self) -> bool:
        return self._clock.monotonic() - self._renewed >= self._ttl_s / 3

    def _renew(self, db: Connection) -> None:
        """Renew the lease if it is due: who writes is alive."""
        if self._renewal_is_due():
            self._lease = leases.renew(db, self._lease, now=self._now(), ttl_s=self._ttl_s)
            self._renewed = self._clock.monotonic()

    def _now(self) -> datetime:
        return self._clock.now()
