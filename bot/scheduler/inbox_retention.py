"""Retention of deliveries that are done: as long as GitHub may send them once more, and some days."""

from datetime import timedelta

from bot.bootstrap import Services
from bot.github.failed_deliveries import RETENTION
from ledger.log import event_store
from ledger.queue import inbox, leases

KEPT = RETENTION + timedelta(days=7)  # for an outage within which nothing was ingested
BATCH, MAX_BATCHES = 1_000, 20  # of one turn; each batch is a transaction of some 10 ms
EVERY_S = 50.0  # of all hosts one drops, at every clean-up


def drop_deliveries(services: Services) -> tuple[str, ...]:
    """Drop old deliveries, the oldest first, within limits; return a sentence if there were some."""
    with event_store.writing(services.engine) as db:
        if not leases.due(db, "inbox-retention", every_s=EVERY_S):
            return ()
    count = 0
    for _ in range(MAX_BATCHES):
        dropped = inbox.drop_old(services.engine, age=KEPT, limit=BATCH)
        count += dropped
        if dropped < BATCH:
            break
    return (f"{count} deliveries",) if count else ()
