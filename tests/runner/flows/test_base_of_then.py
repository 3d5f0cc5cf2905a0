"""A run on an older commit of the base branch, in a workspace of its own, beside its card's."""

from ledger.ids import RunId
from ledger.states import Ending
from tests.runner.flows.test_hosts import commit
from tests.runner.flows.test_story import FINISH, PLAN
from tests.runner.world import CARD, RUN, World, git


def test_it_begins_on_that_commit_and_not_on_the_newest(world: World) -> None:
    then = world.head("main")
    world.commit({"later.txt": "later\n"})
    world.scenario(plan=[PLAN], work=[*commit("first"), FINISH])
    world.run(world.spec(kind="rerun", again_of=RunId("r7"), base_commit=then, base=then))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert git(world.origin, "merge-base", world.head(), "main").strip() == then
    assert "later.txt" not in git(world.origin, "ls-tree", "--name-only", world.head())
    assert {event.place for event in world.of("WorkspaceTaken")} == {f"again-{RUN}"}
    assert not (world.places.workspaces / CARD).exists()
    assert world.only("BriefingMade").base == then


def test_a_commit_that_is_gone_ends_it_with_the_way_out(world: World) -> None:
    world.scenario(plan=[PLAN], work=[FINISH])
    world.run(
        world.spec(
            kind="rerun", again_of=RunId("r7"), base_commit="f" * 40, unlike=("it is old",), effort="high"
        )
    )
    assert (world.ended().ending, world.ended().reason) == (Ending.FAILED, "repository")
    assert "add `--base now`" in world.ended().detail
    said = [event.text for event in world.of("Progressed")]
    assert "Different from r7: it is old." in said
    assert "scripted cannot be told an effort: `high` has no effect here." in said
