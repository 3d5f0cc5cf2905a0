"""`cardinal gc` removes what nobody needs, says what it would remove, and never beside another clean-up."""

import json
import os
import time

from sqlalchemy import Engine

from bot.runspec.host_paths import make_host_paths
from bot.scheduler import cleanup
from bot.system.config import Config
from bot.system.host_name import host_name
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queue import leases
from runner import workspaces
from runner.artifacts.store import store_of
from runner.workspaces.contract import Tenancy
from tests.bot.cli.conftest import Cardinal


def test_what_nobody_needs_is_named_by_a_dry_run_and_then_removed_once(
    cardinal: Cardinal, engine: Engine, config: Config
) -> None:
    paths = make_host_paths(config)
    workspaces.load("local").open(paths, Tenancy(CardId("PVTI_gone")))
    store = store_of(paths)
    orphan = store.keep("of nobody").digest
    long_ago = time.time() - cleanup.ORPHAN_S - 60
    os.utime(paths.artifacts / orphan[:2] / orphan, (long_ago, long_ago))
    left = ["the workspace of PVTI_gone", "1 files of no run"]
    dry = json.loads(cardinal("gc", "--dry-run", "--json").stdout)
    assert dry == {"dry_run": True, "removed": left}
    assert (store.read(orphan), any(paths.workspaces.glob("*/card"))) == (b"of nobody", True)
    with event_store.writing(engine) as db:
        lease = leases.take(db, f"tidy:{host_name(config)}", "another", ttl_s=600)
    assert lease is not None
    busy = cardinal("gc")
    assert (busy.exit_code, "cleaned up just now" in busy.output) == (2, True)
    assert any(paths.workspaces.glob("*/card"))
    with event_store.writing(engine) as db:
        leases.release(db, lease)
    assert cardinal("gc").output.splitlines() == [f"removed: {what}" for what in left]
    assert (store.read(orphan), any(paths.workspaces.glob("*/card"))) == (None, False)
    assert "nothing to clean up" in cardinal("gc").output


def test_without_a_ledger_it_says_where_there_is_one(cardinal: Cardinal) -> None:
    absent = cardinal("gc")
    assert (absent.exit_code, "no ledger" in absent.output) == (2, True)
