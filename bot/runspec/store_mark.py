"""The mark of the folder that hosts share as their store: the ledger knows it from the first use on."""

import logging
from dataclasses import replace
from pathlib import Path

from sqlalchemy import Engine

from ledger.log import event_store
from ledger.queue import leases
from runner.artifacts.backend import StoreError
from runner.artifacts.folder import FolderStore
from runner.run.run_spec import HostPaths

log = logging.getLogger(__name__)

LEASE = "store"  # its holder is the mark
FOR_EVER_S = 100 * 366 * 86_400.0


def mark_store(places: HostPaths, engine: Engine | None) -> HostPaths:
    """Return the places with the mark of their store, where that is a folder that hosts share."""
    address = places.store.address
    if engine is None or not address or address.startswith("s3://"):
        return places
    return replace(places, store=replace(places.store, mark=_mark(engine, Path(address))))


def _mark(engine: Engine, folder: Path) -> str:
    """Return the mark that the ledger knows: at the first use that of the folder, empty if it gets none."""
    with event_store.reading(engine) as db:
        known = leases.holder(db, LEASE)
    if known:
        return known
    try:
        with event_store.writing(engine) as db:
            known = leases.holder(db, LEASE)  # another host may have been quicker
            if not known:
                known = FolderStore(folder).mark()
                leases.take(db, LEASE, known, ttl_s=FOR_EVER_S)
    except StoreError as error:
        log.warning("store not marked reason=%s", error)
    return known
