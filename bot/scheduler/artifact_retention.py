"""Retention of artifacts: so many days and bytes, and never less than a live run needs."""

from datetime import timedelta

from bot.bootstrap import Services
from bot.runspec import builder
from ledger.events.artifact import ArtifactDropped
from ledger.log import event_store
from ledger.queue import leases
from ledger.views import artifacts, checkpoints
from ledger.views.artifacts import ArtifactRow
from runner.artifacts.store import Store, store_of

MAX_AT_ONCE = 500
BYTES_PER_MB = 1_000_000
YOUNG_S = 3_600.0  # a run may be writing the same file just now, and tell of it in a moment
ORPHAN_S = 86_400.0
LEASE_S = 600.0  # of who was killed meanwhile: the next one waits so long


def drop(services: Services, *, dry_run: bool = False) -> tuple[str, ...]:
    """Remove old artifacts, then those over the limit, the oldest first; return a sentence for each.

    Of hosts that share a store the holder of its lease does it; a store of one's own has its own lease.
    `dry_run`: remove nothing.
    """
    if dry_run:
        return _drop(services, dry_run)
    name = "retention" if services.config.store else f"retention:{services.host}"
    with leases.held(services.engine, name, services.name, ttl_s=LEASE_S) as mine:
        return _drop(services, dry_run) if mine else ()


def _drop(services: Services, dry_run: bool) -> tuple[str, ...]:
    store = store_of(builder.places(services.config))
    before = services.now() - timedelta(days=services.config.artifact_days)
    with event_store.reading(services.engine) as db:
        too_old = artifacts.oldest(db, MAX_AT_ONCE, before)
    if not dry_run:
        _remove(services, store, too_old, "age")
    too_much = _too_much(services, too_old if dry_run else ())
    if not dry_run:
        _remove(services, store, too_much, "space")
    done = [f"{len(rows)} artifacts ({why})" for rows, why in ((too_old, "age"), (too_much, "space")) if rows]
    orphans = _orphans(services, store, dry_run)
    return (*done, *((f"{orphans} files of no run",) if orphans else ()))


def _too_much(services: Services, besides: tuple[ArtifactRow, ...]) -> tuple[ArtifactRow, ...]:
    most = services.config.artifact_mb * BYTES_PER_MB
    with event_store.reading(services.engine) as db:
        over = artifacts.total_bytes(db) - most - sum(row.size_bytes for row in besides)
        if over <= 0:
            return ()
        excess: list[ArtifactRow] = []
        for row in artifacts.oldest(db, MAX_AT_ONCE + len(besides))[len(besides) :]:  # those are the oldest
            if over <= 0:
                break
            excess.append(row)
            over -= row.size_bytes  # less, where another run has the file: the next turn takes the rest
        return tuple(excess)


def _remove(services: Services, store: Store, rows: tuple[ArtifactRow, ...], reason: str) -> None:
    """Append first: a file without a row is found as an orphan, a row without its file would be wrong."""
    if not rows:
        return
    with event_store.writing(services.engine) as db:
        dropped = (ArtifactDropped(row.run_id, row.name, row.digest, reason) for row in rows)
        event_store.append(db, *dropped, at=services.now())
        gone = {row.digest for row in rows if not artifacts.is_kept(db, row.digest)}
    for digest in gone:
        if not store.young(digest, YOUNG_S):
            store.remove(digest)


def _orphans(services: Services, store: Store, dry_run: bool) -> int:
    """Remove files without a row: of a run that was killed while it wrote, or dropped ones."""
    count, since = 0, services.now() - timedelta(days=services.config.artifact_days)
    for name in store.older_than(ORPHAN_S):
        with event_store.reading(services.engine) as db:
            needed = artifacts.is_kept(db, name) or checkpoints.is_kept(db, name, since)
        if not needed:
            count += 1
            if not dry_run:
                store.remove(name)
    return count
