"""`cardinal workspaces` lists them, says what would be removed, and removes it when told so."""

import json
from pathlib import Path

import pytest
from sqlalchemy import Engine

from bot.runspec.host_paths import make_host_paths
from bot.system.config import Config
from bot.system.host_name import host_name
from bot.web.acting.record import OPERATOR
from ledger.events.run import RunClaimed, RunParked
from ledger.events.workspace import Checkpointed, WorkspaceCleaned, WorkspaceTaken
from ledger.ids import CardId, RunId
from ledger.log import event_store
from runner import workspaces
from runner.workspaces.contract import Tenancy
from tests.bot.cli.conftest import AT, HOSTILE, Cardinal, card, queued


@pytest.fixture
def places(engine: Engine, config: Config) -> Path:
    """Return the folder of three workspaces on this host: saved, not saved, and at work."""
    host, paths = host_name(config), make_host_paths(config)
    with event_store.writing(engine) as db:
        for number, left_out in ((11, ()), (12, (f"the session: {HOSTILE}",)), (13, ())):
            run_id, card_id = RunId(f"r{number}"), CardId(f"PVTI_{number}")
            event_store.append(db, card(number, f"Card {number}"), queued(run_id, number), at=AT)
            event_store.append(
                db, RunClaimed(run_id, 1, "w", host), WorkspaceTaken(run_id, card_id, host, 1), at=AT
            )
            kept = Checkpointed(
                run_id, card_id, 1, host, "1" * 40, "1" * 40, left_out=left_out, disk_bytes=5_000_000
            )
            event_store.append(db, kept, *(() if number == 13 else (RunParked(run_id, "question"),)), at=AT)
            workspaces.load("local").open(paths, Tenancy(card_id))
    return paths.workspaces


def there(places: Path) -> list[str]:
    return sorted(it.name for it in places.iterdir())


def test_they_are_listed_and_narrowed(cardinal: Cardinal, places: Path) -> None:
    said = cardinal("workspaces").stdout
    assert said.splitlines()[0].split()[:3] == ["job", "host", "size"]
    assert all(f"acme/shop#{number}" in said for number in (11, 12, 13))
    assert "\x1b" not in said
    rows = json.loads(cardinal("workspaces", "--card", "acme/shop#12", "--json").stdout)["workspaces"]
    assert [(it["run"], it["size_mb"]) for it in rows] == [("r12", 5.0)]
    assert "no workspaces" in cardinal("workspaces", "--larger-than", "6").output
    assert "no card" in cardinal("workspaces", "--state", "broken").output
    assert there(places) == ["PVTI_11", "PVTI_12", "PVTI_13"]


def test_nothing_goes_before_yes_and_then_only_what_is_saved_and_free(
    cardinal: Cardinal, places: Path, engine: Engine
) -> None:
    dry = cardinal("workspaces", "--clean")
    assert "acme/shop#11 on" in dry.stdout
    assert "would be removed" in dry.stdout
    assert "Nothing was removed yet: repeat this with --yes." in dry.stdout
    assert "saved nowhere else: the session" in dry.stdout
    assert "r13 is working there" in dry.stdout
    assert len(there(places)) == 3
    done = json.loads(cardinal("workspaces", "--clean", "--yes", "--json").stdout)
    assert [it["removed"] for it in done["workspaces"]] == [True, False, False]
    assert there(places) == ["PVTI_12", "PVTI_13"]
    cardinal("workspaces", "--clean", "--yes", "--discard")
    assert there(places) == ["PVTI_13"]
    with event_store.reading(engine) as db:
        events = [it.event for it in event_store.read(db) if isinstance(it.event, WorkspaceCleaned)]
    assert [(it.card_id, it.by) for it in events] == [("PVTI_11", OPERATOR), ("PVTI_12", OPERATOR)]


@pytest.mark.usefixtures("places")
def test_yes_alone_is_refused(cardinal: Cardinal) -> None:
    refused = cardinal("workspaces", "--yes")
    assert (refused.exit_code, "--clean" in refused.output) == (2, True)
