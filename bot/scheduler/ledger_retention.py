"""Retention of the ledger's rows other than events: as long as somebody may still ask for them."""

from collections import Counter
from datetime import timedelta

from bot.bootstrap import Services
from bot.github.failed_deliveries import RETENTION
from ledger.lifecycle import retention
from ledger.log import event_store
from ledger.queue import leases

KEPT = RETENTION + timedelta(days=7)  # for an outage within which nothing was ingested
KEPT_FOR_PEOPLE = timedelta(days=90)
BATCH, MAX_BATCHES = 1_000, 20  # of one turn; each batch is a transaction of some 10 ms
EVERY_S = 50.0  # of all hosts one drops, at every clean-up


def drop_rows(services: Services) -> tuple[str, ...]:
    """Drop old rows, the oldest first, within limits; return a sentence for each kind."""
    with event_store.writing(services.engine) as db:
        if not leases.due(db, "ledger-retention", every_s=EVERY_S):
            return ()
    counts: Counter[str] = Counter()
    for _ in range(MAX_BATCHES):
        dropped = retention.drop_old(services.engine, age=KEPT, age_for_people=KEPT_FOR_PEOPLE, limit=BATCH)
        counts.update(dropped)
        if max(dropped.values()) < BATCH:
            break
    return tuple(f"{count} {kind}" for kind, count in counts.items() if count)
