"""A workspace that outgrows its share of the disk ends its run, and says what to change."""

import pytest

from ledger.model.policy_settings import Resources
from ledger.states import Ending
from runner.session import context
from tests.runner.flows.test_story import EDIT, FINISH, PLAN
from tests.runner.world import World

FILL = {"run": "head -c 20000000 /dev/zero > big"}


@pytest.fixture(autouse=True)
def _weighed_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "WEIGH_S", 0.05)


def test_a_place_that_grows_beyond_its_share_ends_the_run(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, FILL, {"sleep": 20}, FINISH])
    world.run(world.spec(resources=Resources().model_copy(update={"disk_mb": 16})))
    ended = world.ended()
    assert (ended.ending, ended.reason) == (Ending.FAILED, "guardrail")
    assert "16 MB are its share" in ended.detail
    assert "disk_mb" in ended.detail


def test_a_place_of_too_many_empty_files_ends_the_run(world: World) -> None:
    many = {"run": "mkdir m && cd m && seq 3000 | xargs touch"}
    world.scenario(plan=[PLAN], work=[EDIT, many, {"sleep": 20}, FINISH])
    world.run(world.spec(resources=Resources(files=2000)))
    ended = world.ended()
    assert (ended.ending, ended.reason) == (Ending.FAILED, "guardrail")
    assert "more than 2,000 files and folders" in ended.detail
    assert "resources: {files: …}" in ended.detail


def test_what_stays_within_its_share_is_left_alone(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, FILL, {"sleep": 0.6}, {"run": "rm big"}, FINISH])
    world.run(world.spec(resources=Resources(disk_mb=64)))
    assert world.ended().ending is Ending.SUCCEEDED
