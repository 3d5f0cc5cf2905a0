"""Sender of webhooks: one background thread, in order, without retries, as GitHub does."""

import http.client
import time
from collections import deque
from threading import Condition, Thread
from urllib.parse import urlsplit

from forge.store import Store
from forge.store.registration import Delivery

DEADLINE_S = 10  # docs.github.com/webhooks/using-webhooks/best-practices-for-using-webhooks
REVERSE_WAIT_S = 2.0  # a batch to be reversed goes out after this long, even when it is not full


class Sender:
    """Sends the deliveries that the store records, with injected faults."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._queue: deque[Delivery] = deque()
        self._held: list[Delivery] = []
        self._wake = Condition()
        self._stopping = False
        self._busy = False
        self._thread = Thread(target=self._run, name="forge-hooks", daemon=True)
        store.deliveries.outlets.append(self.take)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop sending; returns when the thread has ended (at most the deadline of one request)."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
        if self._thread.is_alive():
            self._thread.join(DEADLINE_S + 1)

    def take(self, delivery: Delivery) -> None:
        with self._wake:
            self._queue.append(delivery)
            self._wake.notify_all()

    def resume(self) -> None:
        """Take what a stopped forge had not sent, the oldest first."""
        for delivery in reversed(self._store.deliveries.all()):
            if delivery.status == "pending":
                self.take(delivery)

    def drain(self, timeout_s: float = 10) -> bool:
        """Wait until all queued deliveries are sent; return whether that was in time."""
        with self._wake:
            return self._wake.wait_for(
                lambda: not self._queue and not self._held and not self._busy, timeout_s
            )

    def _run(self) -> None:
        while True:
            with self._wake:
                ready = self._wake.wait_for(
                    lambda: self._queue or self._stopping, REVERSE_WAIT_S if self._held else None
                )
                if self._stopping:
                    return
                batch = self._next_batch() if ready else self._take_held()
                self._busy = True
            with self._store.lock:  # what is told was kept first
                pass
            for delivery in batch:
                self._send_with_faults(delivery)
            with self._wake:
                self._busy = False
                self._wake.notify_all()

    def _next_batch(self) -> list[Delivery]:
        delivery = self._queue.popleft()
        if not self._store.faults.take("reverse"):
            return [*self._take_held(), delivery]
        self._held.append(delivery)
        return [] if self._store.faults.deliveries.reverse else self._take_held()

    def _take_held(self) -> list[Delivery]:
        batch, self._held = list(reversed(self._held)), []
        return batch

    def _send_with_faults(self, delivery: Delivery) -> None:
        faults = self._store.faults
        if faults.deliveries.delay_s:
            with self._wake:
                self._wake.wait_for(lambda: self._stopping, faults.deliveries.delay_s)
        if faults.take("lose"):
            self._record_answer(delivery, 0, "failed to connect to host", 0.0)
            return
        self._send(delivery)
        if faults.take("duplicate"):
            self._send(delivery)

    def _send(self, delivery: Delivery) -> None:
        target = urlsplit(delivery.app.webhook_url)
        kind = http.client.HTTPSConnection if target.scheme == "https" else http.client.HTTPConnection
        began = time.monotonic()
        connection = kind(target.netloc, timeout=DEADLINE_S)
        try:
            connection.request("POST", target.path or "/", delivery.body, delivery.headers)
            answer = connection.getresponse()
            text = answer.read(65_536).decode(errors="replace")
        except TimeoutError:
            self._record_answer(delivery, 0, "timed out", time.monotonic() - began)
        except (OSError, http.client.HTTPException):
            self._record_answer(delivery, 502, "failed to connect to host", time.monotonic() - began)
        else:
            delivery.response_headers = dict(answer.getheaders())
            delivery.response_body = text
            status = "OK" if 200 <= answer.status < 300 else f"Invalid HTTP Response: {answer.status}"
            self._record_answer(delivery, answer.status, status, time.monotonic() - began)
        finally:
            connection.close()

    def _record_answer(self, delivery: Delivery, code: int, status: str, took_s: float) -> None:
        with self._store.lock:
            delivery.status_code, delivery.status, delivery.duration_s = code, status, took_s
            delivery.delivered_at = self._store.clock.now()
