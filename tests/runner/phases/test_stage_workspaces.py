"""Runs in stages whose place is gone: what was handed over is brought back, and nothing else."""

import shutil
from dataclasses import replace

from ledger.states import Ending
from runner.run.run_spec import RunSpec
from tests.runner.flows.test_story import EDIT, PLAN
from tests.runner.phases.test_stages import (
    FINISH,
    IMPLEMENT,
    NOTE,
    NOTES,
    STAGES,
    VERIFY,
    entries,
    go,
)
from tests.runner.world import BRANCH, World, git


def test_a_workspace_that_is_gone_is_made_anew_with_what_the_stages_handed_over(world: World) -> None:
    ask = {"ask": {"question": "Which?"}}
    stages = {"implement": [EDIT, go("verify")], "verify": [ask, {"run": "grep Hello hello.txt"}, go("note")]}
    world.scenario(plan=[PLAN], stages=stages | {"note": [FINISH]})
    spec = world.spec(stages=STAGES)
    assert world.run(spec).why == "question"
    shutil.rmtree(world.places.workspaces / "PVTI_1")
    stages["verify"] = [{"run": "grep Hello hello.txt"}, go("note")]
    world.scenario(plan=[PLAN], stages=stages | {"note": [FINISH]})
    world.answer(spec, "Hello")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert [one.ok for one in world.of("ToolUsed") if one.summary.startswith("grep")] == [True]
    assert len(world.of("SessionLost")) == 2
    assert world.show("hello.txt") == "Hello"
    assert entries(world) == [("implement", 1), ("verify", 1), ("note", 1)]


def test_a_restored_ledger_goes_on_from_what_the_stages_had_handed_over_then(world: World) -> None:
    ask = {"ask": {"question": "Which?"}}
    stages = {"implement": [EDIT, go("verify")], "verify": [ask, go("implement")], "verify-2": [ask]}
    world.scenario(plan=[PLAN], stages=stages | {"implement-2": [NOTES, go("verify")]})
    spec = replace(world.spec(stages=STAGES), host="b")
    assert world.run(spec).why == "question"
    with world.taken_back():
        assert world.answer(spec, "Hello").why == "question"
    world.scenario(plan=[PLAN], stages=stages | {"verify": [go("note")], "note": [FINISH]})
    world.answer(spec, "Hello")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert world.show("hello.txt") == "Hello"
    assert "NOTES.md" not in world.show("")


def gone_while_it_asks(world: World) -> RunSpec:
    """Let a stage hand over, the next one ask, and the place go; return the next specification."""
    ask = {"ask": {"question": "Which?"}}
    world.scenario(plan=[PLAN], stages={"implement": [EDIT, go("verify")], "verify": [ask]})
    spec = world.spec(stages=STAGES)
    assert world.run(spec).why == "question"
    shutil.rmtree(world.places.workspaces / "PVTI_1")
    world.scenario(plan=[PLAN], stages={"verify": [go("note")], "note": [FINISH]})
    return spec


def test_what_was_handed_over_is_found_again_also_when_its_name_in_the_mirror_is_gone(world: World) -> None:
    spec = gone_while_it_asks(world)
    (mirror,) = world.places.mirrors.glob("*.git")
    git(mirror, "update-ref", "-d", "refs/cardinal/r1-head")
    world.answer(spec, "Hello")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert world.show("hello.txt") == "Hello"


def test_what_was_handed_over_and_is_nowhere_any_more_ends_the_run(world: World) -> None:
    spec = gone_while_it_asks(world)
    shutil.rmtree(world.places.mirrors)
    world.answer(spec, "Hello")
    assert (world.ended().ending, world.ended().reason) == (Ending.FAILED, "repository")
    assert "what the stages made: retry" in world.ended().detail


def test_a_place_that_is_made_anew_stands_on_what_people_pushed_before(world: World) -> None:
    pushed = world.commit({"theirs.txt": "Hi\n"}, BRANCH)
    spec = gone_while_it_asks(world)
    (mirror,) = world.places.mirrors.glob("*.git")
    again = world.commit({"theirs.txt": "Hi again\n"}, BRANCH)
    git(mirror, "fetch", "--quiet", str(world.origin), f"+{BRANCH}:{BRANCH}")
    git(mirror, "update-ref", "refs/cardinal/r1-seen", again, pushed)  # by a claim that was killed after it
    world.answer(spec, "Hello")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert world.show("theirs.txt") == "Hi again"
    assert git(world.origin, "merge-base", again, BRANCH) == again


def test_work_that_was_taken_back_is_not_brought_back(world: World) -> None:
    back = {"run": "git reset --quiet --hard HEAD~1"}
    asks = replace(NOTE, approval=True)
    stages = {"implement": [EDIT, go("verify")], "verify": [go("implement")]}
    world.scenario(
        plan=[PLAN], stages=stages | {"implement-2": [back, go("verify")], "verify-2": [go("note")]}
    )
    spec = world.spec(stages=(IMPLEMENT, VERIFY, asks))
    assert world.run(spec).why == "question"
    shutil.rmtree(world.places.workspaces / "PVTI_1")
    world.scenario(plan=[PLAN], stages={"note": [NOTES, FINISH]})
    world.answer(spec, "yes")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert git(world.origin, "ls-tree", "--name-only", BRANCH).split() == ["NOTES.md", "README.md"]
