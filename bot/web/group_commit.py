"""Group commits: deliveries that wait together are stored in one transaction, and wake workers together."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from ledger.errors import CardinalError
from ledger.ids import DeliveryId
from ledger.queue import inbox
from ledger.queue.inbox import Delivery

log = logging.getLogger(__name__)

T = TypeVar("T")

MAX_GROUP = inbox.MAX_ROWS
MAX_GROUP_BYTES = 32 * 1024 * 1024  # of payloads in one transaction: the largest delivery has 25 MB
REST_S = 0.02  # between two groups of wake-ups: a burst is woken for together, and worked off together
ALONE_S = 5.0  # after a group failed, its deliveries are tried alone for so long


class NotStoredError(CardinalError):
    """A delivery is not on disk, so it may not be answered with 202."""

    def __init__(self, delivery_id: DeliveryId, because: str) -> None:
        self.delivery_id, self.because = delivery_id, because
        super().__init__(
            f"delivery {delivery_id} was not stored ({because}): GitHub keeps it, and the sweep requests it "
            "again; see that the disk has room, and that nothing holds the database"
        )


@dataclass(frozen=True, slots=True)
class Incoming:
    """A verified delivery. `stored` becomes whether it is new once it is on disk, or NotStoredError.

    `by_app` tells whether an app did the reported act; the names of `headers` are in lower case. `about`
    names the issue, pull request or commit; it is empty where there is none.
    """

    delivery: Delivery
    by_app: bool
    headers: Mapping[str, str]
    about: str = ""
    stored: "Future[bool]" = field(default_factory=Future)


# Starts workers for stored deliveries, each with whether an app did what it reports, and what it is about;
# False when it could not.
Wake = Callable[[Sequence[tuple[DeliveryId, bool, str]]], bool]
Keep = Callable[[Sequence[tuple[Delivery, Mapping[str, str]]]], None]


class Batches(Generic[T]):
    """Hands all that waits to `take` at once; between two calls it rests for `rest_s`.

    Its thread works while something waits.
    """

    def __init__(
        self, take: Callable[[list[T]], None], size: Callable[[T], int] = lambda _: 0, rest_s: float = 0.0
    ) -> None:
        self._take, self._size, self._rest_s = take, size, rest_s
        self.waiting: deque[T] = deque()
        self._turn = threading.Lock()
        self._works = False
        self._thread = ThreadPoolExecutor(1)

    def add(self, *new: T) -> None:
        """Have them taken with the next batch: no batch begins between them."""
        with self._turn:
            self.waiting.extend(new)
            if not self._works:
                self._works = True
                self._thread.submit(self._work)

    def _work(self) -> None:
        while batch := self._next():
            try:
                self._take(batch)
            except Exception:  # the top of a thread: logged, and the next batch is taken
                log.exception("group failed count=%s", len(batch))
            if self._rest_s:
                time.sleep(self._rest_s)

    def _next(self) -> list[T]:
        batch: list[T] = []
        with self._turn:
            self._fill(batch)
            self._works = bool(batch)
        return batch

    def fill(self, batch: list[T]) -> None:
        """Add to the batch that `take` has got what has come since, as far as there is room."""
        with self._turn:
            self._fill(batch)

    def _fill(self, batch: list[T]) -> None:
        size_bytes = sum(map(self._size, batch))
        while self.waiting and len(batch) < MAX_GROUP:
            size_bytes += self._size(self.waiting[0])
            if batch and size_bytes > MAX_GROUP_BYTES:
                break
            batch.append(self.waiting.popleft())


class GroupCommit:
    """Stores deliveries in groups: all that came until it was their turn to be written.

    Then it wakes workers, in groups as well. `keep` gets new deliveries with their headers.
    """

    def __init__(self, engine: Engine, wake: Wake, keep: Keep) -> None:
        self._engine, self._wake, self._keep = engine, wake, keep
        self._arrived = Batches(self._write, size=lambda it: len(it.delivery.payload))
        self._stored: Batches[tuple[Incoming, bool]] = Batches(self._announce, rest_s=REST_S)

    def add(self, incoming: Incoming) -> None:
        """Have the delivery stored in the next group."""
        incoming.stored.set_running_or_notify_cancel()  # nobody can take it back
        self._arrived.add(incoming)

    def _write(self, group: list[Incoming]) -> None:
        count = len(group)

        def come_since() -> list[Delivery]:
            self._arrived.fill(group)
            return [it.delivery for it in group[count:]]

        try:
            self._store(group, time.monotonic() + ALONE_S, come_since)
        finally:
            _refuse([it for it in group if not it.stored.done()], "see the log")

    def _store(
        self,
        group: Sequence[Incoming],
        alone_until: float,
        more: Callable[[], Sequence[Delivery]] = tuple,
    ) -> None:
        """Store the group; when that fails each alone, so that a bad one takes no other with it.

        `more` adds to the group, and returns what it added.
        """
        deliveries = [it.delivery for it in group]
        try:
            new = set(inbox.store_deliveries(self._engine, *deliveries, more=more))
        except SQLAlchemyError as error:
            if len(group) == 1 or time.monotonic() > alone_until:
                _refuse(group, type(error).__name__)
                log.error("deliveries not stored count=%s error=%s", len(group), error)
                return
            for it in group:
                self._store((it,), alone_until)
            return
        answers = []
        for it in group:
            answers.append((it, it.delivery.delivery_id in new))
            new.discard(it.delivery.delivery_id)  # the second of two in a group is a repeat
        self._keep([(it.delivery, it.headers) for it, is_new in answers if is_new])
        for it, is_new in answers:
            it.stored.set_result(is_new)
        self._stored.add(*answers)

    def _announce(self, stored: Sequence[tuple[Incoming, bool]]) -> None:
        """Wake workers; for repeats as well: their first wake-up may be lost."""
        woken = self._wake([(it.delivery.delivery_id, it.by_app, it.about) for it, _ in stored])
        ids = ",".join(it.delivery.delivery_id for it, _ in stored)
        log.info("stored deliveries=%s new=%s woken=%s", ids, sum(new for _, new in stored), woken)


def _refuse(group: Sequence[Incoming], because: str) -> None:
    for it in group:
        it.stored.set_exception(NotStoredError(it.delivery.delivery_id, because))
