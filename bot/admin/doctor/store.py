"""Can the store of all hosts be written and read?"""

import hashlib
import secrets
from collections.abc import Iterator
from io import BytesIO

from bot.admin.doctor import CheckResult, DoctorContext, fail, ok
from bot.runspec.host_paths import make_host_paths
from bot.runspec.store_mark import mark_store
from runner.artifacts.backend import StoreError
from runner.artifacts.store import open_store

_PROBE_BYTES = 64


def store(context: DoctorContext) -> Iterator[CheckResult]:
    """Can a few bytes be stored, read back and deleted?"""
    paths = mark_store(make_host_paths(context.config), context.engine)
    if not paths.store.address and not context.config.home.exists():
        return  # there is no home to write to yet
    blobs, probe = open_store(paths.store, paths.artifacts), secrets.token_bytes(_PROBE_BYTES)
    digest = hashlib.sha256(probe).hexdigest()
    try:
        blobs.put(BytesIO(probe), digest)
        file = blobs.get(digest)
        blobs.delete(digest)
    except StoreError as error:
        message, _, step = str(error).partition("): ")
        yield fail("store", f"{message})", step)
        return
    if file is None:
        yield fail(
            "store",
            f"{blobs.address} returned different bytes than were stored",
            "check its disk or its server",
        )
        return
    file.close()
    shared = "all hosts" if paths.store.address else "this host alone"
    sealed = ", encrypted" if paths.store.encryption_key else ""
    yield ok("store", f"runs store their files and work in {blobs.address}, for {shared}{sealed}")


ORDER = 1
CHECKS = (store,)
