"""Retention of artifacts: so many days and bytes, and never less than a live run needs."""

from collections.abc import Callable
from datetime import timedelta

from sqlalchemy import Connection

from bot.bootstrap import Services
from bot.runspec import builder
from bot.runspec.store_mark import mark_store
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
WALK = 1_000  # names of files that are read between two renewals
Renew = Callable[[], None]  # raises StaleClaimError where the claim was lost


def drop_artifacts(
    services: Services, *, dry_run: bool = False, renew: Renew | None = None
) -> tuple[str, ...]:
    """Remove old artifacts, then those over the limit, the oldest first; return a sentence for each.

    Of hosts that share a store the holder of its lease does it; a store of one's own has its own lease.
    `dry_run`: remove nothing. `renew` renews the caller's own claim, together with that lease.
    Raises StaleClaimError when another host took over because a single removal took longer than LEASE_S.
    """
    if dry_run:
        return _drop(services, None)
    name = "retention" if services.config.store else f"retention:{services.host}"
    with leases.lease_held(services.engine, name, services.name, ttl_s=LEASE_S) as lease:
        if lease is None:
            return ()

        def renew_both() -> None:
            if renew:
                renew()
            with event_store.writing(services.engine) as db:
                leases.renew(db, lease, ttl_s=LEASE_S)

        return _drop(services, renew_both)


def _drop(services: Services, renew: Renew | None) -> tuple[str, ...]:
    """Remove artifacts, each under a renewed claim; None: remove nothing."""
    store = store_of(mark_store(builder.artifact_places(services.config), services.engine))
    before = services.now() - timedelta(days=services.config.artifact_days)
    with event_store.reading(services.engine) as db:
        too_old = artifacts.oldest(db, MAX_AT_ONCE, before)
    if renew:
        _remove(services, store, too_old, "age", renew)
    too_much = _too_much(services, () if renew else too_old)
    if renew:
        _remove(services, store, too_much, "space", renew)
    done = [f"{len(rows)} artifacts ({why})" for rows, why in ((too_old, "age"), (too_much, "space")) if rows]
    orphans = _orphans(services, store, renew)
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


def _is_needed(services: Services, db: Connection, digest: str) -> bool:
    """Tell whether a file is an artifact, or part of a checkpoint that is not too old."""
    since = services.now() - timedelta(days=services.config.artifact_days)
    return artifacts.is_kept(db, digest) or checkpoints.is_in_checkpoint(db, digest, since)


def _remove(
    services: Services, store: Store, rows: tuple[ArtifactRow, ...], reason: str, renew: Renew
) -> None:
    """Append first: a file without a row is found as an orphan, a row without its file would be wrong.

    Nothing is dropped while the store is away. Raises StoreError then.
    """
    if not rows:
        return
    store.young(rows[0].digest, YOUNG_S)
    with event_store.writing(services.engine) as db:
        dropped = (ArtifactDropped(row.run_id, row.name, row.digest, reason) for row in rows)
        event_store.append(db, *dropped, at=services.now())
        gone = {row.digest for row in rows if not _is_needed(services, db, row.digest)}
    for digest in gone:
        renew()
        if not store.young(digest, YOUNG_S):
            store.remove(digest)


def _orphans(services: Services, store: Store, renew: Renew | None) -> int:
    """Remove files without a row: of a run that was killed while it wrote, or dropped ones."""
    count = 0
    for place, name in enumerate(store.older_than(ORPHAN_S)):
        with event_store.reading(services.engine) as db:
            needed = _is_needed(services, db, name)
        if renew and not (needed and place % WALK):
            renew()
        if not needed:
            count += 1
            if renew:
                store.remove(name)
    return count
