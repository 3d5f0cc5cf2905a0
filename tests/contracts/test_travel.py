"""A session of each real agent goes on in another home, from what the store has of it."""

import dataclasses
from pathlib import Path

import pytest

from ledger.states import Ending
from runner.artifacts.backend import StoreSpec
from runner.run.run_spec import HostPaths, RunSpec
from tests.contracts.stand import AGENTS, COMMIT, EDIT, FINISH, Stand

pytestmark = pytest.mark.timeout(600)
ASK = {"ask": {"question": "Which greeting?"}}


def on(stand: Stand, order: RunSpec, host: str) -> RunSpec:
    """Return the order as a worker of that host gets it; both hosts share a store."""
    root: Path = stand.root / host
    root.mkdir(mode=0o755, exist_ok=True)
    folders = (root / name for name in ("mirrors", "workspaces", "logs"))
    store = StoreSpec(str(stand.root / "shared"))
    return dataclasses.replace(
        order, host=host, places=HostPaths(*folders, stand.world.places.scenarios, store=store)
    )


@pytest.mark.parametrize("agent", AGENTS, indirect=True)
def test_a_parked_session_goes_on_in_another_home(stand: Stand) -> None:
    stand.scenario(work=[EDIT, COMMIT, ASK, FINISH])
    order = stand.order()
    assert stand.world.run(on(stand, order, "b")).why == "question"
    kept = stand.world.of("Checkpointed")[-1]
    assert (bool(kept.session), kept.left_out) == (True, ())
    stand.world.answer(on(stand, order, "c"), "Moin")
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    assert stand.world.only("WorkspaceRestored").missing == ()
    assert len({event.session_id for event in stand.world.of("SessionStarted")}) == 1
    assert stand.world.of("SessionLost") == []
    assert stand.world.show("hello.txt") == "hello"
