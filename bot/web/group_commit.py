"""Group commits: deliveries that wait together are stored in one transaction, and wake workers together."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from ledger.errors import CardinalError
from ledger.ids import DeliveryId
from ledger.queue import inbox
from ledger.queue.inbox import Delivery

log = logging.getLogger(__name__)

MAX_GROUP = inbox.MAX_ROWS
MAX_GROUP_BYTES = 32 * 1024 * 1024  # of payloads in one transaction: the largest delivery has 25 MB
ALONE_S = 5.0  # after a group failed, its deliveries are tried alone for so long


class NotStoredError(CardinalError):
    """A delivery is not on disk, so it may not be answered with 202."""

    def __init__(self, delivery_id: DeliveryId, because: str) -> None:
        self.delivery_id, self.because = delivery_id, because
        super().__init__(
            f"delivery {delivery_id} was not stored ({because}): GitHub keeps it, and the sweep requests it "
            "again; see that the disk has room and the database answers"
        )


@dataclass(frozen=True, slots=True)
class Incoming:
    """A verified delivery. `stored` becomes whether it is new once it is on disk, or NotStoredError.

    `by_app` tells whether an app did what it reports; the names of `headers` are in lower case.
    """

    delivery: Delivery
    by_app: bool
    headers: Mapping[str, str]
    stored: "Future[bool]" = field(default_factory=Future)


# Starts workers for stored deliveries, each with whether an app did what it reports; False when it could not.
Wake = Callable[[Sequence[tuple[DeliveryId, bool]]], bool]
Keep = Callable[[Delivery, Mapping[str, str]], None]


class GroupCommit:
    """Stores deliveries in groups: all that came while the group before was written.

    Its thread lives while deliveries wait. `keep` gets each new delivery with its headers.
    """

    def __init__(self, engine: Engine, wake: Wake, keep: Keep) -> None:
        self._engine, self._wake, self._keep = engine, wake, keep
        self._waiting: deque[Incoming] = deque()
        self._turn = threading.Lock()
        self._writes = False  # whether the thread has something to do
        self._thread = ThreadPoolExecutor(1)

    def add(self, incoming: Incoming) -> None:
        """Have the delivery stored in the next group."""
        incoming.stored.set_running_or_notify_cancel()  # nobody can take it back
        with self._turn:
            self._waiting.append(incoming)
            if not self._writes:
                self._writes = True
                self._thread.submit(self._write)

    def _write(self) -> None:
        while group := self._next_group():
            try:
                self._store(group, time.monotonic() + ALONE_S)
                self._announce([it for it in group if it.stored.exception() is None])
            except Exception:  # the top of a thread: logged, and the next group is written
                log.exception("group of deliveries failed count=%s", len(group))
            finally:
                _refuse([it for it in group if not it.stored.done()], "see the log")

    def _next_group(self) -> list[Incoming]:
        group: list[Incoming] = []
        size_bytes = 0
        with self._turn:
            while self._waiting and len(group) < MAX_GROUP:
                size_bytes += len(self._waiting[0].delivery.payload)
                if group and size_bytes > MAX_GROUP_BYTES:
                    break
                group.append(self._waiting.popleft())
            self._writes = bool(group)
        return group

    def _store(self, group: Sequence[Incoming], alone_until: float) -> None:
        """Store the group; when that fails each alone, so that a bad one takes no other with it."""
        try:
            new = set(inbox.store(self._engine, *(it.delivery for it in group)))
        except SQLAlchemyError as error:
            if len(group) == 1 or time.monotonic() > alone_until:
                _refuse(group, type(error).__name__)
                log.error("deliveries not stored count=%s error=%s", len(group), error)
                return
            for it in group:
                self._store((it,), alone_until)
            return
        for it in group:
            is_new = it.delivery.delivery_id in new
            new.discard(it.delivery.delivery_id)  # the second of two in a group is a repeat
            if is_new:
                self._keep(it.delivery, it.headers)
            it.stored.set_result(is_new)

    def _announce(self, stored: Sequence[Incoming]) -> None:
        """Wake workers; for repeats as well: their first wake-up may be lost."""
        if not stored:
            return
        woken = self._wake([(it.delivery.delivery_id, it.by_app) for it in stored])
        ids = ",".join(it.delivery.delivery_id for it in stored)
        new = sum(it.stored.result() for it in stored)
        log.info("deliveries stored ids=%s new=%s woken=%s", ids, new, woken)


def _refuse(group: Sequence[Incoming], because: str) -> None:
    for it in group:
        it.stored.set_exception(NotStoredError(it.delivery.delivery_id, because))
