"""How fast the event log takes events, folded into every view, each commit on disk."""

import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from ledger.events.conversation import PersonSaid
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from tests.bench.figures import Figure
from tests.ledger.samples import CARD, NOW, board_seen, card_seen

SINGLE, BATCHES, BATCH = 400, 60, 20


def measure(*, quick: bool) -> Iterator[Figure]:
    """Append one event for each transaction, then twenty."""
    share = 20 if quick else 1
    with tempfile.TemporaryDirectory(prefix="cardinal-bench-") as folder:
        engine = open_ledger(f"sqlite:///{Path(folder) / 'ledger.db'}")
        with event_store.writing(engine) as db:
            event_store.append(db, board_seen(), card_seen(), at=NOW)
        for name, times, size in (
            ("events_appended_singly", SINGLE // share, 1),
            ("events_appended_in_batches", BATCHES // share, BATCH),
        ):
            start, number = time.perf_counter(), 0
            for _ in range(times):
                events = [PersonSaid(CARD, number + n, "issue", "ann", True, "A word.") for n in range(size)]
                number += size
                with event_store.writing(engine) as db:
                    event_store.append(db, *events, at=datetime.now(UTC))
            took_s = time.perf_counter() - start
            yield Figure(
                name,
                times * size / took_s,
                "events/s",
                note=f"{size} in each transaction, fsync",
                raw="raw_sqlite_commits",
            )
        engine.dispose()
