"""How fast the event log takes events, folded into every view, each commit on disk."""

import statistics
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Engine

from ledger.events.conversation import PersonSaid
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from tests.bench.figures import Figure
from tests.bench.limits import raw_rows
from tests.ledger.samples import CARD, NOW, board_seen, card_seen

SINGLE, BATCHES, BATCH = 400, 60, 20
ROUNDS, ROUND = 20, 100  # of the ratio: events and raw rows by turns, so that both have the same machine


def measure(*, quick: bool) -> Iterator[Figure]:
    """Append one event for each transaction, then twenty; and compare the processor's time with SQLite's."""
    share = 20 if quick else 1
    with tempfile.TemporaryDirectory(prefix="cardinal-bench-") as folder:
        engine = open_ledger(f"sqlite:///{Path(folder) / 'ledger.db'}")
        with event_store.writing(engine) as db:
            event_store.append(db, board_seen(), card_seen(), at=NOW)
        raw = "raw_sqlite_commits"
        note = "{} in each transaction, fsync"
        rate = _rate(engine, SINGLE // share, 1)
        yield Figure("events_appended_singly", rate, "events/s", note=note.format(1), raw=raw)
        rate = _rate(engine, BATCHES // share, BATCH)
        yield Figure(
            "events_appended_in_batches", rate, "events/s", note=note.format(BATCH), raw=raw, least=10_000
        )
        times = _cpu_over_raw(engine, Path(folder), ROUNDS // share, ROUND)
        note = "a comment in its own commit, over one row in its own; processor time, the middle of both"
        yield Figure("event_cpu_over_raw", times, "times", 2.5, note)
        engine.dispose()


def _rate(engine: Engine, times: int, size: int) -> float:
    """Return the events in a second, so many in each transaction."""
    start = time.perf_counter()
    for _ in range(times):
        _append(engine, size)
    return times * size / (time.perf_counter() - start)


def _append(engine: Engine, size: int) -> None:
    events = [PersonSaid(CARD, n, "issue", "ann", True, "A word.") for n in range(size)]
    with event_store.writing(engine) as db:
        event_store.append(db, *events, at=datetime.now(UTC))


def _cpu_over_raw(engine: Engine, folder: Path, rounds: int, count: int) -> float:
    raw, whole = [], []
    with raw_rows(folder) as insert:
        for _ in range(rounds):
            start = time.process_time()
            insert(count)
            between = time.process_time()
            for _ in range(count):
                _append(engine, 1)
            raw.append(between - start)
            whole.append(time.process_time() - between)
    return statistics.median(whole) / statistics.median(raw)
