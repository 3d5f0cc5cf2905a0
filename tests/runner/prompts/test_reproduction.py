"""What an agent is told of the steps that a browser played."""

import pytest

from ledger.events.reproduction import FAILED, PASSED, UNPLAYABLE
from runner.prompts.compose import result_on_base
from tests.runner.checks.test_browser_replay import played
from tests.runner.world import World


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (PASSED, "all 2 steps came true"),
        (FAILED, "step 2 of 2 did not come true"),
        (UNPLAYABLE, "it could not be played to its end"),
    ],
)
def test_an_agent_hears_what_came_of_it(world: World, outcome: str, said: str) -> None:
    spec, log = world.claim(world.spec())
    log.append(played(outcome=outcome))
    assert said in result_on_base(spec, log.history)


@pytest.mark.parametrize(
    ("kind", "mode", "without"),
    [
        ("first", "fix", False),
        ("revision", "fix", True),
        ("repair", "fix", True),
        ("retry", "fix", True),
        ("retry", "investigate", False),
    ],
)
def test_who_works_on_a_branch_hears_that_it_was_the_base_that_was_played(
    world: World, kind: str, mode: str, *, without: bool
) -> None:
    spec, log = world.claim(world.spec(kind=kind, mode=mode))
    log.append(played())
    said = result_on_base(spec, log.history)
    assert "so it is reproduced." in said
    assert ("without the commits of the card's branch: these may have mended it" in said) is without
