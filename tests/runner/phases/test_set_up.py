"""A repository's set-up is what every run of a card stands on: it ended well once, or it is made again."""

import os
import signal
from dataclasses import replace
from pathlib import Path

from ledger.states import Ending
from runner.run.log import RunLog
from runner.workspaces.backends.local import BACKEND
from runner.workspaces.contract import Tenancy
from tests.runner.flows.test_kill import die_at
from tests.runner.flows.test_story import EDIT, FINISH, PLAN
from tests.runner.world import CARD, World, checks

MADE = "echo done > ../home/made"
LOOK = {"run": "cat ../home/made > made.txt"}


class DiesInSetUp(RunLog):
    """Kills its own process once the set-up is half way."""

    def beat(self) -> None:
        super().beat()
        root = Path(str(self._engine.url.database)).parent
        if (root / "workspaces" / CARD / "repo/half").exists():
            os.kill(os.getpid(), signal.SIGKILL)


def test_a_set_up_that_was_cut_short_is_made_again_in_an_empty_place(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, LOOK, FINISH])
    spec = world.spec(validation=checks(setup=["touch half; sleep 60"]))
    assert die_at(world, spec, "", after=True, kind=DiesInSetUp)
    assert BACKEND.open(world.places, Tenancy(CARD)).fresh
    again = replace(spec, validation=checks(setup=["test ! -e half", MADE]))
    world.again(again, "reclaimed")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert world.show("made.txt") == "done"


def test_a_set_up_that_failed_is_made_again_by_the_next_run(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, LOOK, FINISH])
    world.run(world.spec(validation=checks(setup=["false"])))
    assert world.ended().reason == "repository"
    world.lease = None
    world.run(world.spec(run_id="r2", attempt=2, kind="retry", validation=checks(setup=[MADE])))
    assert world.ended("r2").ending is Ending.SUCCEEDED, world.ended("r2")
    assert world.show("made.txt") == "done"


def test_a_set_up_that_ended_well_is_not_made_again(world: World) -> None:
    world.scenario(plan=[PLAN], work=[{"ask": {"question": "Which?"}}, EDIT, LOOK, FINISH])
    spec = world.spec(validation=checks(setup=["echo once >> ../home/made"]))
    world.run(spec)
    world.answer(spec, "Hello")
    assert world.show("made.txt") == "once"
