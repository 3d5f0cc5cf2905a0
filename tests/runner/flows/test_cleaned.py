"""A workspace that was removed because somebody asked is made again from what is saved of it."""

import pytest

from ledger.events.workspace import WorkspaceCleaned
from ledger.states import Ending
from runner.workspaces.card_folder import set_aside
from tests.runner.flows.test_hosts import ASK, NEXT, commit, folder, home, uncommitted
from tests.runner.flows.test_story import FINISH, PLAN
from tests.runner.flows.test_travel import in_repo, on, said
from tests.runner.world import CARD, RUN, World


def cleaned(world: World, by: str) -> None:
    with set_aside(home(world, "b").workspaces, CARD):
        world.write(WorkspaceCleaned(CARD, CARD, "b", RUN, by))
    assert not folder(world, "b").exists()


@pytest.mark.parametrize("by", ["bob", ""])
def test_the_next_run_continues_from_the_checkpoint_where_somebody_asked(world: World, by: str) -> None:
    world.scenario(plan=[PLAN], work=[*commit("first"), uncommitted("b"), {"fail": 3}])
    world.run(on(world, world.spec(), "b"))
    kept = world.of("Checkpointed")[-1]
    assert (kept.uncommitted, kept.uncommitted_files) == (("left-b.txt",), 1)
    assert kept.disk_bytes > 0
    cleaned(world, by)
    world.lease = None
    world.scenario(plan=[PLAN], work=[*commit("second"), FINISH])
    world.run(on(world, world.spec(run_id=NEXT, attempt=2), "b"))
    assert world.ended(NEXT).ending is Ending.SUCCEEDED, world.ended(NEXT)
    assert ({"first.txt", "left-b.txt"} <= in_repo(world, "b")) == bool(by)


def test_a_parked_run_continues_in_its_session_after_that(world: World) -> None:
    world.scenario(plan=[PLAN], work=[*commit("first"), uncommitted("b"), ASK, *commit("second"), FINISH])
    spec = on(world, world.spec(), "b")
    assert world.run(spec).why == "question"
    cleaned(world, "bob")
    world.answer(spec, "Moin")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert len({event.session_id for event in world.of("SessionStarted")}) == 1
    assert {"first.txt", "second.txt", "left-b.txt"} <= in_repo(world, "b")
    assert "continues on host b" in said(world)


def test_names_of_uncommitted_files_are_bounded_and_hold_no_secret(world: World) -> None:
    token = "ghp_" + "a" * 40
    names = 'for n in $(seq 30); do echo > "many-$n.txt"; done; echo > "1$(printf %0200d 7)"'
    names += f'; echo > "0{token}"'
    world.scenario(plan=[PLAN], work=[{"run": names}, {"fail": 3}])
    world.run(on(world, world.spec(), "b"))
    kept = world.of("Checkpointed")[-1]
    assert (len(kept.uncommitted), kept.uncommitted_files) == (20, 32)
    assert token not in str(kept.uncommitted)
    assert max(map(len, kept.uncommitted)) <= 120
