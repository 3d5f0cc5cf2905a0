"""Clean-up: containers of dead claims, workspaces of finished cards, old artifacts, refs, logs and rows."""

import logging
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from sqlalchemy import Connection

from bot.bootstrap import Services
from bot.github.failed_deliveries import RETENTION
from bot.runspec.host_paths import make_host_paths, open_host_store
from bot.scheduler import dispatch
from bot.scheduler.asked_cleanup import NEWEST, clean_asked, record_gone
from ledger.errors import CardinalError, StaleClaimError
from ledger.events.artifact import ArtifactDropped
from ledger.events.run import RERUN
from ledger.ids import CardId, RunId
from ledger.lifecycle import retention
from ledger.log import event_store
from ledger.model.run_modes import LOOK, card_of_workspace, workspace_name
from ledger.queue import leases
from ledger.states import RUN_HELD, CardState, RunState
from ledger.views import artifacts, cards, checkpoints, folders, runs
from ledger.views.artifacts import ArtifactRow
from runner import workspaces
from runner.artifacts.store import Store
from runner.checks.places import PURPOSES
from runner.errors import RunnerError
from runner.git import cleanup
from runner.git.folder_mirror import is_of_folder
from runner.phases.recheck import PREFIX
from runner.run.run_spec import AGAIN, HostPaths
from runner.workspaces.card_folder import ASIDE, folder_name
from runner.workspaces.contract import Backend, Leftover, Tenancy

MAX_AT_ONCE = 500
BYTES_PER_MB = 1_000_000
YOUNG_S = 3_600.0  # a run may be writing the same file just now, and tell of it in a moment
ORPHAN_S = 86_400.0
WALK = 1_000  # names of files that are read between two renewals
log = logging.getLogger(__name__)
KEPT = RETENTION + timedelta(days=7)  # for an outage within which nothing was ingested
KEPT_FOR_PEOPLE = timedelta(days=90)
RETENTION_BATCH, MAX_BATCHES = 1_000, 20  # of one turn; each batch is a transaction of some 10 ms
RETENTION_EVERY_S = 50.0  # of all hosts one drops, at every clean-up
CHAT_S = 900.0  # older than any answer takes
MIRROR_S = 3600.0  # since a run looked into the copy of a folder: longer than one takes to begin
REF_AGE = timedelta(days=14)  # for who looks into a card that is not done: its commits stay so long
LEASE_S = 600.0  # of who was killed meanwhile: the next one waits so long
_CHAT = "chat-"
Renew = Callable[[], None]  # raises StaleClaimError where the claim was lost
_FINISHED = (CardState.DONE, CardState.ARCHIVED)


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
    store = open_host_store(services.config, services.engine)
    before = services.now() - timedelta(days=services.config.artifact_days)
    with event_store.reading(services.engine) as db:
        too_old = artifacts.oldest(db, MAX_AT_ONCE, before)
    if renew:
        _remove_artifacts(services, store, too_old, "age", renew)
    too_much = _too_much(services, () if renew else too_old)
    if renew:
        _remove_artifacts(services, store, too_much, "space", renew)
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
    """Tell whether a file is an artifact, or part of a snapshot or checkpoint that is not too old."""
    since = services.now() - timedelta(days=services.config.artifact_days)
    return (
        artifacts.is_kept(db, digest)
        or folders.is_snapshot(db, digest, since)
        or checkpoints.is_in_checkpoint(db, digest, since)
    )


def _remove_artifacts(
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
    for position, name in enumerate(store.older_than(ORPHAN_S)):
        with event_store.reading(services.engine) as db:
            needed = _is_needed(services, db, name)
        if renew and not (needed and position % WALK):
            renew()
        if not needed:
            count += 1
            if renew:
                store.remove(name)
    return count


class TidyingError(CardinalError):
    """Another process of this host cleans up."""

    def __init__(self) -> None:
        super().__init__("this host is being cleaned up just now: try again in some minutes")


def clean_up(services: Services, *, dry_run: bool = False) -> tuple[str, ...]:
    """Remove this host's left-overs and return a sentence for each; the next run retries failures.

    `dry_run`: remove nothing, and say nothing of old rows. Raises TidyingError while another process
    does it, or when one took over because a single removal took longer than LEASE_S.
    """
    if dry_run:
        return tuple(dict.fromkeys(_tidy(services, None)))  # two backends may name one folder
    with leases.lease_held(services.engine, f"tidy:{services.host}", services.name, ttl_s=LEASE_S) as lease:
        if lease is None:
            raise TidyingError

        def renew() -> None:
            with event_store.writing(services.engine) as db:
                leases.renew(db, lease, ttl_s=LEASE_S)

        try:
            return (*_drop_rows(services), *_tidy(services, renew))
        except StaleClaimError as error:
            raise TidyingError from error


def _tidy(services: Services, renew: Renew | None) -> Iterator[str]:
    """Remove left-overs, each under a renewed claim, and yield a sentence for each; None: remove nothing."""
    paths = make_host_paths(services.config)

    def alive(run_id: RunId, generation: int) -> bool:
        with event_store.reading(services.engine) as db:
            return _is_alive(db, paths, run_id, generation)

    yield from clean_asked(services, paths, dry_run=renew is None)
    for name in workspaces.names():
        backend = workspaces.load(name)
        if backend.problem():
            continue  # the folders are the same for all: another backend removes them
        try:
            yield from _remove(backend.leftovers(paths, alive), renew)
            yield from _remove(_places(services, backend, paths), renew)
        except RunnerError as error:
            log.warning("not tidied backend=%s reason=%s", name, error)
    if renew:
        record_gone(services, paths)
    dead = (*_gateways(paths, alive), *_exports(paths, alive), *_logs(services, paths))
    yield from _remove(dead, renew)
    try:
        yield from drop_artifacts(services, dry_run=renew is None, renew=renew)
    except (RunnerError, StaleClaimError) as error:  # this host's own claim is renewed again below
        log.warning("artifacts not tidied reason=%s", error)
    yield from _remove(_refs(services, paths), renew)  # the last: it may wait for mirrors


def _remove(leftovers: Iterable[Leftover], renew: Renew | None) -> Iterator[str]:
    for leftover in leftovers:
        try:
            if renew:
                renew()
                leftover.remove()
                log.info("tidied %s", leftover.what)
        except (RunnerError, OSError) as error:  # one that cannot be removed holds up no other
            log.warning("not tidied %s reason=%s", leftover.what, error)
        else:
            yield leftover.what


def _is_alive(db: Connection, places: HostPaths, run_id: RunId, generation: int) -> bool:
    if run_id.startswith(_CHAT):
        return not _is_old(places.workspaces / run_id)
    run = runs.get(db, run_id)
    current = leases.generation(db, dispatch.LEASE_PREFIX + run_id)
    return run is not None and run.state in RUN_HELD and current == generation


def _is_old(path: Path, age_s: float = CHAT_S) -> bool:
    """Tell whether a folder or file of this host is old, or gone; both times are this host's."""
    try:
        return time.time() - path.stat().st_mtime > age_s
    except FileNotFoundError:
        return True


def _places(services: Services, backend: Backend, places: HostPaths) -> Iterator[Leftover]:
    """Yield the workspaces of one backend in which no run will work again."""
    for card_id in backend.cards(places):
        with event_store.reading(services.engine) as db:
            over = _is_over(db, places, card_id)
        if over:
            yield Leftover(f"the workspace of {card_id}", partial(_destroy, backend, places, card_id))


def _destroy(backend: Backend, places: HostPaths, card_id: CardId) -> None:
    backend.open(places, Tenancy(card_id)).destroy()


def _is_over(db: Connection, places: HostPaths, place: CardId) -> bool:
    if place.startswith(ASIDE):
        return True
    if place.startswith(_CHAT):
        return _is_old(places.workspaces / place)
    if place.startswith(PREFIX):
        run = runs.get(db, RunId(place.removeprefix(PREFIX)))
        return run is None or run.state not in RUN_HELD
    clean = next((purpose for purpose in PURPOSES if place.startswith(purpose)), "")
    name = card_of_workspace(place.removeprefix(clean))
    if name.startswith(AGAIN):
        beside = runs.get(db, RunId(name.removeprefix(AGAIN)))
        return beside is None or (beside.state not in RUN_HELD if clean else not beside.alive)
    card_id = CardId(name)
    of_card = runs.of_card(db, card_id, limit=NEWEST)
    newest = next((run for run in of_card if run.kind != RERUN), None)
    works = newest is not None and newest.state is not RunState.ENDED
    if clean:
        return newest is None or newest.state not in RUN_HELD
    if place.startswith(LOOK):
        return not works
    card = cards.get(db, card_id)
    return not works and (card is None or card.archived or card.state in _FINISHED)


def _exports(places: HostPaths, alive: Callable[[RunId, int], bool]) -> Iterator[Leftover]:
    for path, run_id, generation in cleanup.exports(places.mirrors):
        if not alive(run_id, generation):
            yield Leftover(f"the export {path.name}", partial(cleanup.remove, path))
    for path in cleanup.list_unfinished_mirrors(places.mirrors):
        if _is_old(path, MIRROR_S):
            yield Leftover(f"the half-made mirror {path.name}", partial(cleanup.remove, path))


def _refs(services: Services, places: HostPaths) -> Iterator[Leftover]:
    """Yield the refs of runs that are over; the next run retries refusals of git."""
    for mirror in cleanup.mirrors_in(places.mirrors):
        try:
            run_ids = cleanup.runs_in(mirror)
            with event_store.reading(services.engine) as db:
                over = [folder for folder in run_ids if _is_forgotten(db, places, folder, services.now())]
            if over:
                what = f"the refs of {min(len(over), cleanup.MAX_RUNS)} runs in {mirror.name}"
                yield Leftover(what, partial(cleanup.forget, mirror, over))
            if is_of_folder(mirror) and _is_old(mirror, MIRROR_S) and not _any_alive(services, run_ids):
                yield Leftover(
                    f"the copy {mirror.name}, which the store has", partial(cleanup.remove, mirror)
                )
        except RunnerError as error:
            log.warning("refs not tidied mirror=%s reason=%s", mirror.name, error)


def _any_alive(services: Services, run_ids: Iterable[RunId]) -> bool:
    with event_store.reading(services.engine) as db:
        rows = (runs.get(db, run_id) for run_id in run_ids)
        return any(row is not None and row.state is not RunState.ENDED for row in rows)


def _is_forgotten(db: Connection, places: HostPaths, run_id: RunId, now: datetime) -> bool:
    """Tell whether a run has ended, and its card's workspace is gone or that was long ago."""
    run = runs.get(db, run_id)
    if run is None:
        return True
    if run.state is not RunState.ENDED or run.ended_at is None:
        return False
    workspace = CardId(workspace_name(run.mode, run.card_id, run.folder))
    stands = (places.workspaces / folder_name(workspace) / "card").exists()
    return not stands or now - run.ended_at > REF_AGE


def _logs(services: Services, places: HostPaths) -> Iterator[Leftover]:
    """Yield the logs of runs that are over, once they are older than artifacts may get."""
    age_s = timedelta(days=services.config.artifact_days).total_seconds()
    for log_file in sorted(places.logs.glob("r*.log")):
        if not (log_file.stem[1:].isdecimal() and _is_old(log_file, age_s)):
            continue
        with event_store.reading(services.engine) as db:
            run = runs.get(db, RunId(log_file.stem))
        if run is None or run.state is RunState.ENDED:
            yield Leftover(f"the log of {log_file.stem}", partial(log_file.unlink, missing_ok=True))


def _gateways(places: HostPaths, alive: Callable[[RunId, int], bool]) -> Iterator[Leftover]:
    """Yield the sockets of gateways, and of their tool servers, that died with their claims."""
    for folder in sorted((*places.gateways.glob("*"), *places.servers.glob("*"))):
        run_id, _, generation = folder.name.rpartition("-")
        chat = folder.name.startswith(_CHAT)
        if not alive(RunId(folder.name if chat else run_id), int(generation) if generation.isdigit() else 0):
            gone = partial(shutil.rmtree, folder, ignore_errors=True)
            yield Leftover(f"the gateway of {folder.name}", gone)


def _drop_rows(services: Services) -> tuple[str, ...]:
    """Drop old rows, the oldest first, within limits; return a sentence for each kind."""
    with event_store.writing(services.engine) as db:
        if not leases.due(db, "ledger-retention", every_s=RETENTION_EVERY_S):
            return ()
    counts: Counter[str] = Counter()
    for _ in range(MAX_BATCHES):
        dropped = retention.drop_old(
            services.engine, age=KEPT, age_for_people=KEPT_FOR_PEOPLE, limit=RETENTION_BATCH
        )
        counts.update(dropped)
        if max(dropped.values()) < RETENTION_BATCH:
            break
    return tuple(f"{count} {kind}" for kind, count in counts.items() if count)
