"""A workspace that outgrows its share of the disk ends its run, and says what to change."""

from ledger.states import Ending
from runner.run.run_spec import ResourceSpec
from tests.runner.flows.test_story import EDIT, FINISH, PLAN
from tests.runner.world import World

FILL = {"run": "head -c 90000000 /dev/zero > big"}


def test_a_place_that_grows_beyond_its_share_ends_the_run(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, FILL, {"sleep": 20}, FINISH])
    world.run(world.order(resources=ResourceSpec(disk_mb=64)))
    ended = world.ended()
    assert (ended.ending, ended.reason) == (Ending.FAILED, "guardrail")
    assert "64 MB are its share" in ended.detail
    assert "disk_mb" in ended.detail


def test_a_place_of_too_many_empty_files_ends_the_run(world: World) -> None:
    many = {"run": "mkdir m && cd m && seq 3000 | xargs touch"}
    world.scenario(plan=[PLAN], work=[EDIT, many, {"sleep": 20}, FINISH])
    world.run(world.order(resources=ResourceSpec(files=2000)))
    ended = world.ended()
    assert (ended.ending, ended.reason) == (Ending.FAILED, "guardrail")
    assert "more than 2,000 files and folders" in ended.detail
    assert "resources: {files: …}" in ended.detail


def test_what_stays_within_its_share_is_left_alone(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, FILL, {"sleep": 6}, {"run": "rm big"}, FINISH])
    world.run(world.order(resources=ResourceSpec(disk_mb=512)))
    assert world.ended().ending is Ending.SUCCEEDED
