"""A run that goes from one host to another never goes on with files that are not the newest."""

import dataclasses
import shutil
from pathlib import Path

import pytest

from ledger.events.run import RunRequeued
from ledger.events.turn import TurnStarted
from ledger.ids import RunId
from ledger.log import event_store
from ledger.model.run_modes import INVESTIGATE
from ledger.rows.limit_answers import answer_question
from ledger.states import Ending
from runner.agents.contract import Phase
from runner.artifacts.store import store_of
from runner.prompts.compose import compose
from runner.run.history import History
from runner.run.run_spec import HostPaths, RunSpec
from tests.runner.flows.test_kill import die_at, wait_for_its_end
from tests.runner.flows.test_story import FINISH, PLAN
from tests.runner.world import CARD, RUN, World

ASK = {"ask": {"question": "Which greeting?"}}
NEXT = RunId("r2")


@pytest.fixture(autouse=True)
def _scenarios(world: World) -> None:
    world.scenario(plan=[PLAN])


def home(world: World, host: str) -> HostPaths:
    """Return the folders of another home on this machine, with the same scenarios."""
    root = world.root / host
    mirrors, workspaces, logs = (root / name for name in ("mirrors", "workspaces", "logs"))
    return HostPaths(mirrors, workspaces, logs, world.places.scenarios)


def on(world: World, spec: RunSpec, host: str) -> RunSpec:
    """Return the specification as a worker of that host gets it."""
    return dataclasses.replace(spec, host=host, paths=home(world, host))


def folder(world: World, host: str) -> Path:
    return home(world, host).workspaces / CARD


def uncommitted(name: str) -> dict[str, str]:
    """Return a step that leaves an uncommitted file."""
    return {"run": f"echo {name} > left-{name}.txt"}


def commit(name: str) -> list[dict[str, object]]:
    return [{"edit": {"path": f"{name}.txt", "content": f"{name}\n"}}, {"commit": f"On {name}"}]


def set_aside(world: World, host: str) -> str:
    found = [one for one in world.of("ArtifactKept") if one.name == "set-aside.patch"]
    return "".join((store_of(home(world, host)).read(one.digest) or b"").decode() for one in found)


def test_a_run_that_comes_back_to_a_host_begins_anew_there_and_publishes_no_old_file(world: World) -> None:
    spec = world.spec()
    world.scenario(plan=[PLAN], work=[*commit("first"), uncommitted("b"), ASK, FINISH])
    assert world.run(on(world, spec, "b")).why == "question"
    world.scenario(plan=[PLAN], work=[*commit("second"), uncommitted("c"), ASK, FINISH])
    assert world.answer(on(world, spec, "c"), "Moin").why == "question"
    world.scenario(plan=[PLAN], work=[*commit("third"), FINISH])
    world.answer(on(world, spec, "b"), "Ahoi")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert world.show("third.txt") == "third"
    published = world.show("").splitlines()
    assert not {"left-b.txt", "left-c.txt", "first.txt", "second.txt"} & set(published), published
    taken = [(one.host, one.generation, one.left_on) for one in world.of("WorkspaceTaken")]
    assert taken == [("b", 1, ""), ("c", 2, "b"), ("b", 3, "c")]


def test_what_a_host_had_is_set_aside_and_the_card_says_where_the_rest_is(world: World) -> None:
    spec = world.spec()
    world.scenario(plan=[PLAN], work=[uncommitted("b"), ASK, FINISH])
    world.run(on(world, spec, "b"))
    world.scenario(plan=[PLAN], work=[uncommitted("c"), ASK, FINISH])
    world.answer(on(world, spec, "c"), "Moin")
    said = [one.text for one in world.of("Progressed")]
    assert any("over on host c: host b worked" in text for text in said), said
    world.scenario(plan=[PLAN], work=[*commit("third"), FINISH])
    world.answer(on(world, spec, "b"), "Ahoi")
    said = [one.text for one in world.of("Progressed")]
    assert any("over on host b: host c worked" in text for text in said), said
    assert any("set-aside.patch" in text for text in said), said
    aside = set_aside(world, "b")
    assert "left-b.txt" in aside
    assert "left-c.txt" not in aside


def test_the_agent_elsewhere_gets_what_people_answered_before(world: World) -> None:
    spec = world.spec()
    world.scenario(plan=[PLAN], work=[ASK, FINISH])
    world.run(on(world, spec, "b"))
    world.scenario(plan=[PLAN], work=[*commit("second"), FINISH])
    world.answer(on(world, spec, "c"), "Moin, please")
    with event_store.reading(world.engine) as db:
        stream = event_store.read(db, stream="run:r1")
    began = max(n for n, recorded in enumerate(stream) if isinstance(recorded.event, TurnStarted))
    history = History()
    history.take(stream[:began])
    turn = stream[began].event
    assert isinstance(turn, TurnStarted)
    assert (turn.phase, turn.session_id) == ("work", "")
    told = compose(Phase.WORK, spec, history, turn="work")
    assert "Question: Which greeting?\nAnswer: Moin, please" in told
    assert "Do the work on the branch" in told


def test_a_host_whose_folder_is_the_newest_goes_on_in_it(world: World) -> None:
    spec = world.spec()
    world.scenario(plan=[PLAN], work=[*commit("first"), ASK, FINISH])
    world.run(on(world, spec, "b"))
    world.answer(on(world, spec, "b"), "Moin")
    assert world.show("first.txt") == "first"
    assert world.of("SessionLost") == []
    assert {one.left_on for one in world.of("WorkspaceTaken")} == {""}


def test_a_folder_from_a_copy_of_the_home_is_not_taken_for_the_newest(world: World) -> None:
    spec = world.spec()
    world.scenario(
        plan=[PLAN],
        work=[uncommitted("old"), ASK, uncommitted("new"), ASK, *commit("third"), FINISH],
    )
    world.run(on(world, spec, "b"))
    shutil.copytree(folder(world, "b"), world.root / "copy", symlinks=True)
    world.answer(on(world, spec, "b"), "Moin")
    shutil.rmtree(folder(world, "b"))
    shutil.copytree(world.root / "copy", folder(world, "b"), symlinks=True)
    world.answer(on(world, spec, "b"), "Ahoi")
    assert world.only("WorkspaceRestored").source_host == "b"
    assert {"left-old.txt", "left-new.txt", "third.txt"} <= set(world.show("").splitlines())


def test_a_restored_ledger_goes_on_from_the_checkpoint_that_it_knows(world: World) -> None:
    spec = on(world, world.spec(), "b")
    world.scenario(plan=[PLAN], work=[uncommitted("old"), ASK, *commit("{{answer}}"), FINISH])
    world.run(spec)
    with world.taken_back():
        world.answer(spec, "Moin")
        assert world.ended().ending is Ending.SUCCEEDED
    asked = world.only("QuestionAsked")
    world.write(answer_question(asked, by="ann", text="Ahoi", code=""))
    world.write(RunRequeued(RUN, "answered"))
    assert die_at(world, spec, "WorkspaceTaken", after=True)  # the claim has the name of the lost one
    wait_for_its_end(world)
    world.again(spec, "reclaimed")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert world.only("WorkspaceRestored").source_host == "b"
    assert world.of("SessionLost") == []
    assert {"left-old.txt", "Ahoi.txt"} <= set(world.show("").splitlines())


def test_the_next_run_of_a_card_on_another_host_knows_where_the_files_are(world: World) -> None:
    world.scenario(plan=[PLAN], work=[*commit("first"), FINISH])
    world.run(on(world, world.spec(), "b"))
    world.lease = None
    world.scenario(plan=[PLAN], work=[*commit("second"), FINISH])
    world.run(on(world, world.spec(run_id=NEXT, attempt=2), "c"))
    assert world.ended(NEXT).ending is Ending.SUCCEEDED
    assert world.only("WorkspaceTaken", NEXT).left_on == "b"
    assert world.show("first.txt") == "first"
    assert world.of("Progressed", NEXT) == []


def test_an_investigation_that_comes_back_reads_in_a_new_place(world: World) -> None:
    found = {"findings": {"summary": "Nothing", "findings": []}}
    world.scenario(investigate=[ASK, found])
    spec = world.spec(mode=INVESTIGATE)
    for host in ("b", "c"):
        last = world.run(on(world, spec, host)) if host == "b" else world.answer(on(world, spec, host), "Go")
        assert last.why == "question", last
    world.scenario(investigate=[found])
    world.answer(on(world, spec, "b"), "Go")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert [one.left_on for one in world.of("WorkspaceTaken")] == ["", "b", "c"]


def test_who_takes_up_a_run_that_asked_keeps_the_work_that_the_dead_worker_did_not(world: World) -> None:
    spec = on(world, world.spec(), "b")
    world.scenario(plan=[PLAN], work=[*commit("first"), uncommitted("b"), ASK, FINISH])
    assert die_at(world, spec, "Checkpointed", after=False)
    wait_for_its_end(world)
    world.again(spec, "reclaimed")
    assert [(one.point, one.files_changed) for one in world.of("Checkpointed")] == [("question", 2)]
