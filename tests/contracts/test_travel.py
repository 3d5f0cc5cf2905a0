"""A session of each real agent goes on in another home, from what the store has of it."""

import dataclasses
from pathlib import Path

import pytest

from ledger.events.run import Progressed
from ledger.states import Ending
from runner import agents
from runner.run.run_spec import HostPaths, RunSpec, StoreSpec
from tests.contracts.stand import AGENTS, COMMIT, EDIT, FINISH, LIMITS, Stand, first_of_all
from tests.runner.flows.test_travel import killed_in_its_turn
from tests.runner.world import BRANCH, CARD, git

pytestmark = pytest.mark.timeout(600)
ASK = {"ask": {"question": "Which greeting?"}}


def on(stand: Stand, spec: RunSpec, host: str) -> RunSpec:
    """Return the order as a worker of that host gets it; both hosts share a store."""
    root: Path = stand.root / host
    root.mkdir(mode=0o755, exist_ok=True)
    mirrors, workspaces, logs = (root / name for name in ("mirrors", "workspaces", "logs"))
    store = StoreSpec(str(stand.root / "shared"))
    return dataclasses.replace(
        spec,
        host=host,
        paths=HostPaths(mirrors, workspaces, logs, stand.world.places.scenarios, store=store),
    )


@first_of_all("codex")
def test_a_parked_session_goes_on_in_another_home(stand: Stand) -> None:
    stand.scenario(work=[EDIT, COMMIT, ASK, FINISH])
    spec = stand.spec()
    assert stand.world.run(on(stand, spec, "b")).why == "question"
    kept = stand.world.of("Checkpointed")[-1]
    assert (bool(kept.session), kept.left_out) == (True, ())
    stand.world.answer(on(stand, spec, "c"), "Moin")
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    assert stand.world.only("WorkspaceRestored").missing == ()
    assert len({event.session_id for event in stand.world.of("SessionStarted")}) == 1
    assert stand.world.of("SessionLost") == []
    assert stand.world.show("hello.txt") == "hello"


@pytest.mark.parametrize("agent", AGENTS, indirect=True)
def test_killed_in_the_middle_of_a_turn_its_session_goes_on_in_another_home(stand: Stand) -> None:
    done = [EDIT, COMMIT, {"edit": {"path": "draft.txt", "content": "Moin\n"}}, {"progress": "Here"}]
    stand.scenario(work=[*done, {"run": "python3 -c 'import time; time.sleep(60)'"}, FINISH])
    spec = stand.spec(limits=LIMITS.model_copy(update={"checkpoint_s": 0.2}), early=True)
    killed_in_its_turn(stand.world, on(stand, spec, "b"), "Here")
    stand.kill_containers()
    early = stand.world.head()
    begun = len(stand.world.events())
    stand.scenario(work=[*done, {"run": "true"}, FINISH])
    stand.world.again(on(stand, spec, "c"), "reclaimed")
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    assert (stand.world.show("hello.txt"), stand.world.show("draft.txt")) == ("hello", "Moin")
    assert git(stand.world.origin, "merge-base", early, BRANCH).strip() == early
    assert stand.world.only("WorkspaceRestored").missing == ()
    assert len({event.session_id for event in stand.world.of("SessionStarted")}) == 1
    later = stand.world.events()[begun:]
    assert not any(isinstance(event, Progressed) and event.text == "Here" for event in later), "done once"


def tear(stand: Stand) -> None:
    """Leave of the session's files what a host that died while it wrote them does."""
    home = stand.world.places.workspaces / CARD / "home"
    patterns = agents.load(stand.agent).session_files(stand.world.of("SessionStarted")[-1].session_id)
    files = [path for pattern in patterns for path in home.glob(pattern)]
    assert files
    for path in files:
        raw = path.read_bytes()
        path.write_bytes(raw + raw[:25] if path.suffix == ".jsonl" else raw[: len(raw) // 2])


@first_of_all("opencode")
def test_a_torn_session_ends_no_run_and_one_that_is_lost_is_said(stand: Stand) -> None:
    stand.scenario(work=[EDIT, COMMIT, ASK, FINISH])
    spec = stand.spec()
    assert stand.run(spec).why == "question"
    tear(stand)
    stand.world.answer(spec, "Moin")
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    said = [event for event in stand.world.of("Progressed") if "could not continue its session" in event.text]
    assert len(said) == len(stand.world.of("SessionLost")) == (stand.agent == "opencode")
