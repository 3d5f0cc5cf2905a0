"""`python -m tests.bench.yardstick_adapter`: one replica, a producer beside a whole `cardinal up`.

Its consumers are the two workers that Cardinal has for deliveries: WORKER_COUNT and JOB_WORK_MS are ignored.
Lines of the kind `accepted` are beyond the protocol: they name the comments whose delivery got a 202.
"""

import hashlib
import hmac
import http.client
import json
import os
import queue
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import OperationalError

from bot.github.app_manifest import WEBHOOK_PATH
from forge.demo import launch
from forge.stopping import stop_event
from ledger.db.tables import inbox
from ledger.events.conversation import PersonSaid
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from ledger.queue import inbox as deliveries
from ledger.views.cards import cards
from tests.bench.figures import percentile
from tests.bench.yardstick_adapter.github import VARIABLE
from tests.waiting import until

MANIFEST: Mapping[str, Any] = json.loads(Path(__file__).with_name("adapter.json").read_text(encoding="utf-8"))
SENDERS = 4  # GitHub sends several at once
RETRY_S = (
    0.2  # until a delivery without a 202 is sent again under its name, as GitHub does when it is asked to
)
ANSWER_S = 40  # a web server that waits for its database says so within 30 s
DEPTH_S = 0.25  # between two looks at the depth that is to be kept
LOCK_KEY = 0x59415244  # "YARD": of several replicas one reports what the log shows
MAX_EVENTS = 10_000  # of one look
LATENCY_S, MAX_LATENCIES = 30, 30_000
PREFIX = "yardstick-"
_printing = threading.Lock()


def emit(**record: object) -> None:
    """Print one line of telemetry."""
    with _printing:
        print(json.dumps(record), flush=True)


def timestamp() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(slots=True)
class Producer:
    """Sends the jobs that it is asked for, several at once, each until it is accepted."""

    url: str
    github: Mapping[str, Any]
    payload_bytes: int
    stopping: threading.Event
    accepted: int = 0
    jobs: "queue.SimpleQueue[int]" = field(default_factory=queue.SimpleQueue)
    _last_id: int = field(default_factory=lambda: time.time_ns() // 1_000)  # JSON's numbers end at 2**53
    _counting: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> None:
        for _ in range(SENDERS):
            threading.Thread(target=self._send_all, daemon=True).start()

    def enqueue(self, count: int) -> None:
        """Have so many jobs sent."""
        for _ in range(count):
            self._last_id += 1
            self.jobs.put(self._last_id)

    def _send_all(self) -> None:
        address = urlsplit(self.url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=ANSWER_S)
        while not self.stopping.is_set():
            comment_id = self.jobs.get()
            body, headers = self._delivery(comment_id)
            while not self._is_accepted(connection, body, headers):
                connection.close()
                if self.stopping.wait(RETRY_S):
                    return
            emit(kind="accepted", comment_id=comment_id)
            with self._counting:
                self.accepted += 1

    def _is_accepted(
        self, connection: http.client.HTTPConnection, body: bytes, headers: Mapping[str, str]
    ) -> bool:
        try:
            connection.request("POST", WEBHOOK_PATH, body, headers)
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            return False
        return answer.status == HTTPStatus.ACCEPTED

    def _delivery(self, comment_id: int) -> tuple[bytes, Mapping[str, str]]:
        number = self.github["issues"][comment_id % len(self.github["issues"])]
        person = {**self.github["person"], "type": "User"}
        comment = {
            "id": comment_id,
            "user": person,
            "body": "x" * self.payload_bytes,
            "created_at": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        }
        payload = {
            "action": "created",
            "issue": {"number": number, "node_id": f"I_{number}"},
            "comment": comment,
            "repository": {"full_name": self.github["repository"]},
            "sender": person,
        }
        body = json.dumps(payload).encode()
        secret = self.github["app"]["webhook_secret"].encode()
        return body, {
            "Content-Type": "application/json",
            "X-GitHub-Event": "issue_comment",
            "X-GitHub-Delivery": f"{PREFIX}{comment_id}",
            "X-Hub-Signature-256": "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest(),
        }


class Observer:
    """Tells how many jobs the log shows as done since the last look, how long they took, and what waits."""

    def __init__(self, url: str) -> None:
        self.engine, self.depth = open_ledger(url, migrate=False), 0.0
        self.latencies: deque[tuple[float, float]] = deque(maxlen=MAX_LATENCIES)
        self._position: int | None = None
        self._session: Connection | None = None  # has the lock as long as it lives

    def knows(self, issues: Sequence[int]) -> bool:
        """Whether the ledger has the cards of these issues: what is said elsewhere is nobody's. False while
        the database is away.
        """
        known: Sequence[int] = ()
        with suppress(OperationalError), event_store.reading(self.engine) as db:
            known = db.scalars(select(cards.c.number).where(cards.c.number.in_(issues))).all()
        return len(known) == len(issues)

    def look(self) -> int:
        """Return how many jobs were done; 0 where another replica reports them. Raises OperationalError."""
        reports = self._reports()
        with event_store.reading(self.engine) as db:
            last = event_store.last_seq(db)
            kinds, after = (PersonSaid.__name__,), last if self._position is None else self._position
            done = event_store.read_kinds(db, kinds, after=after, until=last, limit=MAX_EVENTS)
            self._position = done[-1].seq if len(done) == MAX_EVENTS else last
            moments = {
                f"{PREFIX}{it.event.comment_id}": it.at for it in done if isinstance(it.event, PersonSaid)
            }
            query = select(inbox.c.delivery_id, inbox.c.received_at)
            rows = db.execute(query.where(inbox.c.delivery_id.in_(moments))).all()
            self.depth = float(deliveries.delivery_counts(db, ("waiting",))["waiting"])
        if not reports:
            return 0
        now = time.monotonic()
        for delivery_id, received_at in rows:
            self.latencies.append((now, (moments[delivery_id] - received_at).total_seconds() * 1000))
        while self.latencies and self.latencies[0][0] < now - LATENCY_S:
            self.latencies.popleft()
        return len(rows)

    def _reports(self) -> bool:
        """Whether this replica is the one that reports."""
        try:
            self._session = self._session or self.engine.connect().execution_options(
                isolation_level="AUTOCOMMIT"
            )
            return bool(self._session.scalar(select(func.pg_try_advisory_lock(LOCK_KEY))))
        except OperationalError:
            if self._session is not None:
                self._session.close()
            self._session = None
            raise


def main() -> int:
    """Be a replica until SIGTERM."""
    stopping, environ = stop_event(), os.environ
    if VARIABLE not in environ:
        raise SystemExit(f"{VARIABLE} is missing: start python -m tests.bench.yardstick_adapter.github FILE")
    file = Path(environ[VARIABLE])
    github = json.loads(file.read_text(encoding="utf-8"))
    url = f"postgresql+psycopg://{environ['DATABASE_URL'].partition('://')[2]}"
    instance = environ.get("BENCH_INSTANCE_ID", "0")
    home, port = file.parent / f"replica-{instance}", launch.free_port()
    settings = {"CARDINAL_DATABASE_URL": url, "CARDINAL_HOST_NAME": f"replica-{instance}"}
    launch.write_settings(home / ".cardinal", github["url"], port, github["app"], settings)
    address = f"http://127.0.0.1:{port}"
    with launch.up(home, launch.own_environment(), file.parent / f"replica-{instance}.log", address):
        observer = Observer(url)
        producer = Producer(address, github, int(environ.get("JOB_PAYLOAD_BYTES", "256")), stopping)
        threading.Thread(target=_begin, args=(producer, observer), daemon=True).start()
        emit(kind="descriptor", **MANIFEST, started_at=timestamp())
        if environ.get("PRODUCER_MODE", "fixed") == "fixed":
            pace = threading.Thread(target=_follow_tokens, args=(producer,), daemon=True)
        else:
            depth = int(environ.get("TARGET_DEPTH", "1000"))
            pace = threading.Thread(target=_keep_depth, args=(producer, Observer(url), depth), daemon=True)
        pace.start()
        _sample(producer, observer, float(environ.get("SAMPLE_EVERY_S", "5")), stopping)
    return 0


def _begin(producer: Producer, observer: Observer) -> None:
    """Send the first job once the board is known."""
    until(lambda: observer.knows(producer.github["issues"]), "the board is known")
    producer.start()


def _follow_tokens(producer: Producer) -> None:
    """Enqueue what the harness asks for on standard input: PRODUCER_PACING is `harness`."""
    for line in sys.stdin:
        word, _, count = line.partition(" ")
        if word == "ENQUEUE":
            producer.enqueue(int(count))


def _keep_depth(producer: Producer, observer: Observer, depth: int) -> None:
    while not producer.stopping.wait(DEPTH_S):
        with suppress(OperationalError):
            with event_store.reading(observer.engine) as db:
                waiting = deliveries.delivery_counts(db, ("waiting",))["waiting"]
            producer.enqueue(max(0, depth - waiting - producer.jobs.qsize()))


def _sample(producer: Producer, observer: Observer, every_s: float, stopping: threading.Event) -> None:
    """Print the metrics at each multiple of `every_s` of the clock, until the stop."""
    accepted = 0
    while not stopping.wait(every_s - time.time() % every_s):
        enqueued, accepted = producer.accepted - accepted, producer.accepted
        figures = {"enqueue_rate": (enqueued / every_s, every_s)}
        try:
            figures["completion_rate"] = (observer.look() / every_s, every_s)
            figures["queue_depth"] = (observer.depth, 0)
        except OperationalError:
            figures["completion_rate"] = (0, every_s)  # what is done now, later looks report
        took_ms = [ms for _, ms in observer.latencies]
        for share in (50, 95, 99) if took_ms else ():
            figures[f"claim_p{share}_ms"] = (percentile(took_ms, share / 100), LATENCY_S)
        about = {"t": timestamp(), "system": MANIFEST["system"], "subject_kind": "adapter", "subject": ""}
        for metric, (figure, window_s) in figures.items():
            emit(kind="adapter", **about, metric=metric, value=figure, window_s=window_s)


if __name__ == "__main__":
    sys.exit(main())
