"""Workspaces of this host that people asked to remove: each is set aside, unless a run has taken it since."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack

from sqlalchemy import Connection

from bot.bootstrap import Services
from bot.reactor import reactor
from ledger.events.workspace import WorkspaceCleaned, WorkspaceKept
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queries import workspaces as queries
from ledger.rows.runs import RunRow
from ledger.states import RUN_HELD, Ending
from ledger.views import checkpoints, runs, workspaces
from ledger.views.workspaces import WorkspaceRow
from runner.artifacts.backend import StoreError
from runner.artifacts.store import BlobStore, open_store
from runner.run.run_spec import HostPaths
from runner.workspaces import card_folder

NEWEST = 20  # runs of a card that are looked at: of older ones none is at work
log = logging.getLogger(__name__)


def clean_asked(services: Services, paths: HostPaths, *, dry_run: bool) -> Iterator[str]:
    """Set aside what people asked to remove, and yield a sentence for each; the usual clean-up removes it.

    What the store does not have stays, and the card says so. While the store is away, it is tried again.
    """
    with event_store.reading(services.engine) as db:
        asked = [row for row in workspaces.on_host(db, services.host) if row.clean_by]
    for row in asked:
        what = f"the workspace of {row.place}, as {row.clean_by} asked"
        if dry_run:
            yield what
            continue
        try:
            if _clean(services, paths, row):
                yield what
        except (StoreError, OSError) as error:  # one that cannot be removed holds up no other
            log.warning("not cleaned place=%s reason=%s", row.place, error)


def _clean(services: Services, paths: HostPaths, row: WorkspaceRow) -> bool:
    """Set the workspace aside in the transaction in which no run can claim it; False where it stays.

    Raises StoreError, OSError.
    """
    store, now = open_store(paths.store, paths.artifacts), services.now()
    with event_store.reading(services.engine) as db:
        lost = () if row.discards else _list_lost(db, store, row)
    with ExitStack() as until_committed, event_store.writing(services.engine) as db:
        run = runs.get(db, row.run_id)
        if run is None or workspaces.get(db, row.place) != row or _is_at_work(db, run):
            return False
        missing = () if row.discards else lost or _list_unsaved(db, run, row)
        if missing:
            kept = WorkspaceKept(run.card_id, row.place, row.host, row.clean_by, missing)
            reactor.append_and_react(db, kept, now=now)
            return False
        until_committed.enter_context(card_folder.set_aside(paths.workspaces, CardId(row.place)))
        cleaned = WorkspaceCleaned(run.card_id, row.place, row.host, row.run_id, row.clean_by)
        reactor.append_and_react(db, cleaned, now=now)
    return True


def _is_at_work(db: Connection, run: RunRow) -> bool:
    return any(it.state in RUN_HELD for it in runs.of_card(db, CardId(run.card_id), limit=NEWEST))


def _list_lost(db: Connection, store: BlobStore, row: WorkspaceRow) -> tuple[str, ...]:
    """Return the parts of the checkpoint that the store does not have. Raises StoreError."""
    run, kept = runs.get(db, row.run_id), checkpoints.of_place(db, row.place)
    if run is None or run.ending is Ending.SUCCEEDED or kept is None:
        return ()
    parts = {f"commits and files of {row.run_id}": kept.bundle, f"the session of {row.run_id}": kept.session}
    return tuple(what for what, digest in parts.items() if digest and store.age_s(digest) is None)


def _list_unsaved(db: Connection, run: RunRow, row: WorkspaceRow) -> tuple[str, ...]:
    """Return what is in no checkpoint: a run may have come and gone since somebody asked."""
    of_card = queries.of_card(db, CardId(run.card_id))
    return next((it.unsaved for it in of_card if it.place == row.place), ())


def record_gone(services: Services, paths: HostPaths) -> None:
    """Record the workspaces of this host whose folder is gone, though nobody asked."""
    with event_store.reading(services.engine) as db:
        listed = workspaces.on_host(db, services.host)
    for row in listed:
        if card_folder.is_there(paths.workspaces, CardId(row.place)):
            continue
        with event_store.writing(services.engine) as db:
            run = runs.get(db, row.run_id)
            if run is None or workspaces.get(db, row.place) != row or _is_at_work(db, run):
                continue
            if not card_folder.is_there(paths.workspaces, CardId(row.place)):
                gone = WorkspaceCleaned(run.card_id, row.place, row.host, row.run_id)
                event_store.append(db, gone, at=services.now())
