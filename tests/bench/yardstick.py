"""The five chaos scenarios of hardbyte/postgresql-job-queue-benchmarking, played here against our adapter.

Phases, replicas, blows and the bound of recovery are as there (docs/method.md); the offered rate is ours.
There a lost job is an estimate from rates. Here each is looked up in the ledger: one that was accepted has to
be in the log once, and one that was stored without an answer as well.
Source: github.com/hardbyte/postgresql-job-queue-benchmarking at 93677cab.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import func, select

from ledger.db.tables import inbox
from ledger.events.conversation import PersonSaid
from ledger.lifecycle.open import connect
from ledger.log import event_store, hash_chain
from tests.bench.figures import Figure, say
from tests.bench.record import ROOT
from tests.bench.yardstick_adapter import github
from tests.bench.yardstick_adapter.__main__ import MANIFEST, PREFIX
from tests.hosts.services import Service, new_postgresql
from tests.waiting import until

RATE = 8  # jobs a second in all: half of what two busy cores bear with PostgreSQL and GitHub beside
DEPTH = 200  # that is kept while throughput is measured
QUICKLY = 0.1
WARM_UP_S, BASELINE_S, RECOVERY_S = 30, 60, 60
TICK_S = 0.025  # of the pacer
KILL_PAUSE_S = 0.5  # between two rounds of ended sessions
IDLE_CONNECTIONS = 300
CONNECTIONS = 400  # that PostgreSQL takes
RECOVERED = 0.9  # of the baseline's rate
START_S, STOP_S, DRAIN_S = 180.0, 60.0, 300.0
MAX_EVENTS = 1_000_000
Json = Mapping[str, Any]


@dataclass(slots=True)
class Replica:
    """One slot of the fleet; its process may be killed and started again."""

    number: int
    environment: Mapping[str, str]
    rate: float
    records: list[tuple[float, Json]] = field(default_factory=list)
    process: "subprocess.Popen[str] | None" = None
    _asked: int = 0  # the process for jobs
    _known: int = 0  # records of processes before it
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        """Start it and wait for its descriptor."""
        words = (sys.executable, "-m", "tests.bench.yardstick_adapter")
        environment = {**self.environment, "BENCH_INSTANCE_ID": str(self.number)}
        process = subprocess.Popen(
            words,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self.process, self._asked, self._known = process, 0, len(self.records)
        self._threads = [threading.Thread(target=self._read, args=(process,), daemon=True)]

        def described() -> bool:
            if process.poll() is not None:
                raise RuntimeError(f"replica {self.number} ended with status {process.returncode}")
            return any(record["kind"] == "descriptor" for _, record in self.records[self._known :])

        self._threads[0].start()
        until(described, f"replica {self.number} is ready", START_S)
        if self.rate:
            self._threads.append(threading.Thread(target=self._pace, args=(process,), daemon=True))
            self._threads[1].start()

    def waiting(self) -> int:
        """Return how many jobs the process was asked for that it has not got accepted."""
        mine = self.records[self._known :]
        return self._asked - len([record for _, record in mine if record["kind"] == "accepted"])

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End it by the signal; by SIGKILL where it does not obey."""
        if self.process is None:
            return
        process, self.process = self.process, None
        process.send_signal(number)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_S)
        for thread in self._threads:
            thread.join(STOP_S)
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # what it did not read
            process.stdin.close()

    def _read(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                self.records.append((time.monotonic(), json.loads(line)))

    def _pace(self, process: "subprocess.Popen[str]") -> None:
        """Ask for jobs by the time that passed."""
        assert process.stdin is not None
        credit, before = 0.0, time.monotonic()
        with suppress(OSError, ValueError):  # it is gone
            while process.poll() is None:
                time.sleep(TICK_S)
                now = time.monotonic()
                credit, before = credit + self.rate * (now - before), now
                if credit >= 1:
                    self._asked += int(credit)
                    process.stdin.write(f"ENQUEUE {int(credit)}\n")
                    credit -= int(credit)


@dataclass(slots=True)
class Fleet:
    """The replicas of one scenario on a database of their own, and what may happen to them."""

    replicas: tuple[Replica, ...]
    database: Service
    url: str
    share: float  # of the protocol's times
    ended: int = 0  # sessions

    @property
    def window_s(self) -> float:
        """The seconds between two samples."""
        return 5.0 if self.share == 1 else 1.0

    def rest(self, seconds: float) -> None:
        """Let so much of the protocol's time pass."""
        until_s = time.monotonic() + seconds * self.share
        while (left_s := until_s - time.monotonic()) > 0:
            for replica in self.replicas:
                if replica.process is not None and (status := replica.process.poll()) is not None:
                    raise RuntimeError(f"replica {replica.number} ended by itself with status {status}")
            time.sleep(min(left_s, 0.5))

    def rates(self, metric: str, began: float, ended: float) -> list[float]:
        """Return the rates between two moments, each the sum of all replicas within one window."""
        sums: Counter[int] = Counter()
        for replica in self.replicas:
            for at, record in replica.records:
                if record.get("metric") == metric and began < at <= ended:
                    sums[round(datetime.fromisoformat(record["t"]).timestamp() / record["window_s"])] += (
                        record["value"]
                    )
        return [sums[window] for window in sorted(sums)]


def _crash(fleet: Fleet) -> None:
    fleet.replicas[0].stop(signal.SIGKILL)
    fleet.rest(60)
    fleet.replicas[0].start()
    fleet.rest(60)


def restart_database(fleet: Fleet) -> None:
    """Stop PostgreSQL and start it again."""
    fleet.database.kill()
    fleet.rest(30)
    fleet.database.start()
    fleet.rest(30)


def _kill_again_and_again(fleet: Fleet) -> None:
    end = time.monotonic() + 120 * fleet.share
    while time.monotonic() < end:
        fleet.rest(20)
        fleet.replicas[0].stop(signal.SIGKILL)
        time.sleep(1)
        fleet.replicas[0].start()


def end_sessions(fleet: Fleet) -> None:
    """Have PostgreSQL end every session at work, twice a second."""
    end = time.monotonic() + 60 * fleet.share
    with psycopg.connect(fleet.url, autocommit=True) as db:
        while time.monotonic() < end:
            fleet.ended += end_those_at_work(db)
            time.sleep(KILL_PAUSE_S)


def end_those_at_work(db: psycopg.Connection) -> int:
    """End the sessions that are at work at this moment; return how many."""
    those = "datname = current_database() AND pid <> pg_backend_pid()"
    query = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {those} AND state LIKE ANY(%s)"
    return db.execute(query, (["active", "idle in transaction"],)).rowcount


def _exhaust_connections(fleet: Fleet) -> None:
    with ExitStack() as held:
        for _ in range(IDLE_CONNECTIONS):
            held.enter_context(psycopg.connect(fleet.url, autocommit=True))
        fleet.rest(60)


SCENARIOS: Mapping[str, tuple[int, Callable[[Fleet], None]]] = {
    "crash_recovery": (2, _crash),
    "postgres_restart": (1, restart_database),
    "repeated_kills": (2, _kill_again_and_again),
    "pg_backend_kill": (1, end_sessions),
    "pool_exhaustion": (1, _exhaust_connections),
}


def measure(*, quick: bool) -> Iterator[Figure]:
    """Play all scenarios, then keep the queue full and count what gets done."""
    share, passed = QUICKLY if quick else 1.0, 0
    for name, (replicas, blow) in SCENARIOS.items():
        try:
            with running(replicas, share, RATE / replicas) as fleet:
                problems, figure = _play(name, fleet, blow)
        except (AssertionError, RuntimeError) as error:  # a part of it did not start, or ended by itself
            problems, figure = [str(error)], Figure(f"yardstick_{name}", 0.0, "jobs/s")
        yield figure
        passed += not problems
        for problem in problems:
            say(f"  {name}: {problem}")
    note = f"{RATE} jobs/s offered; each accepted one in the log once, {RECOVERED:.0%} of the rate again"
    yield Figure("yardstick_scenarios", passed, "of 5", least=len(SCENARIOS), note=note)
    with running(1, share, 0, PRODUCER_MODE="depth-target", TARGET_DEPTH=str(DEPTH)) as fleet:
        fleet.rest(WARM_UP_S)
        began = time.monotonic()
        fleet.rest(BASELINE_S)
        rates = fleet.rates("completion_rate", began, time.monotonic())
    note = f"{DEPTH} waiting all the time; one replica, two workers, sender and GitHub on the same cores"
    yield Figure("yardstick_jobs", statistics.median(rates), "jobs/s", note=note)


@contextmanager
def running(
    count: int, share: float, rate: float, cards: int = github.CARDS, **more_env: str
) -> Iterator[Fleet]:
    """Run a PostgreSQL, a GitHub and replicas, all new, until the block ends. `rate`: of each replica."""
    with ExitStack() as stack:
        root, data = (Path(stack.enter_context(_folder(name))) for name in ("bench", "pg"))
        server = f"postgresql://cardinal@/postgres?host={data / 'data'}"
        settings = ("listen_addresses=", f"max_connections={CONNECTIONS}", "shared_buffers=256MB")

        def answers() -> bool:
            with suppress(psycopg.OperationalError):
                psycopg.connect(server, connect_timeout=2).close()
                return True
            return False

        data.chmod(0o711)  # for PostgreSQL's user
        database = new_postgresql(data / "data", root, *settings, answers=answers, stop_signal=signal.SIGINT)
        stack.callback(database.kill)
        database.start()
        with psycopg.connect(server, autocommit=True) as db:
            db.execute(f"CREATE DATABASE {MANIFEST['db_name']}")
        file = root / "github.json"
        stack.enter_context(github.running(file, cards))
        url = server.replace("/postgres?", f"/{MANIFEST['db_name']}?")
        environment = {
            **os.environ,
            **more_env,
            github.VARIABLE: str(file),
            "DATABASE_URL": url,
        }
        replicas = tuple(Replica(number, environment, rate) for number in range(count))
        fleet = Fleet(replicas, database, url, share)
        environment["SAMPLE_EVERY_S"] = f"{fleet.window_s:g}"
        for replica in replicas:
            stack.callback(replica.stop)
            replica.start()
        yield fleet


def _folder(name: str) -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix=f"cardinal-{name}-", ignore_cleanup_errors=True)


def _play(name: str, fleet: Fleet, blow: Callable[[Fleet], None]) -> tuple[list[str], Figure]:
    """Play one scenario; return what was wrong, and the rate after it."""
    fleet.rest(WARM_UP_S)
    began = time.monotonic()
    fleet.rest(BASELINE_S)
    struck = time.monotonic()
    blow(fleet)
    over = time.monotonic()
    fleet.rest(RECOVERY_S)
    end = time.monotonic()
    baseline = statistics.median(fleet.rates("completion_rate", began, struck) or [0.0])
    during = statistics.mean(fleet.rates("completion_rate", struck, over) or [0.0])
    recovery = fleet.rates("completion_rate", over, end)
    rate = statistics.median(recovery or [0.0])
    problems = find_wrong_jobs(fleet)
    if not baseline or rate < RECOVERED * baseline:
        problems.append(f"{rate:.1f} jobs/s after it, {baseline:.1f} before")
    windows = [number for number, jobs in enumerate(recovery, 1) if jobs >= RECOVERED * baseline]
    back = f"; {RECOVERED:.0%} again within {windows[0] * fleet.window_s:g} s" if windows else ""
    ended = f"; {fleet.ended} sessions ended" if fleet.ended else ""
    note = f"median after the blow; {baseline:.1f} before, {during:.1f} on average during it{back}{ended}"
    return problems, Figure(f"yardstick_{name}", rate, "jobs/s", note=note)


def find_wrong_jobs(fleet: Fleet) -> list[str]:
    """Stop the producers, wait until nothing waits, and return what was lost or done twice."""
    for replica in fleet.replicas:
        replica.rate = 0.0
    until(lambda: not any(replica.waiting() for replica in fleet.replicas), "all jobs are accepted", DRAIN_S)
    accepted = [
        record["comment_id"]
        for replica in fleet.replicas
        for _, record in list(replica.records)
        if record["kind"] == "accepted"
    ]
    engine = connect(fleet.url.replace("postgresql:", "postgresql+psycopg:"))
    mine = inbox.c.delivery_id.startswith(PREFIX)
    try:

        def is_done() -> bool:
            with event_store.reading(engine) as db:
                open_ones = select(func.count()).where(mine, inbox.c.state.in_(("waiting", "claimed")))
                return not db.scalar(open_ones)

        problems = []
        try:
            until(is_done, "the inbox is empty", DRAIN_S)
        except AssertionError as error:
            problems.append(str(error))
        with event_store.reading(engine) as db:
            ids = db.scalars(select(inbox.c.delivery_id).where(mine))
            stored = {int(delivery_id.removeprefix(PREFIX)) for delivery_id in ids}
            last = event_store.last_seq(db)
            said = event_store.read_kinds(db, (PersonSaid.__name__,), after=0, until=last, limit=MAX_EVENTS)
            if (known := hash_chain.verify_chain(db).events) != last:
                problems.append(f"the chain has {known} of {last} events")
    finally:
        engine.dispose()
    done = Counter(it.event.comment_id for it in said if isinstance(it.event, PersonSaid))
    for what, ids_of in (
        ("accepted, and not stored", set(accepted) - stored),
        ("stored, and not in the log", stored - set(done)),
        ("in the log twice", {comment_id for comment_id, count in done.items() if count > 1}),
    ):
        if ids_of:
            problems.append(f"{len(ids_of)} jobs {what}: {sorted(ids_of)[:3]}")
    say(f"  {len(accepted)} jobs accepted, {len(stored)} stored, {done.total()} in the log")
    return problems
