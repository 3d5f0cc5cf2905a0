"""Three hosts with one PostgreSQL, Redis and store: work crosses them, and nothing is done twice or lost."""

import os

import pytest

from tests.hosts.conftest import Play
from tests.hosts.storm import REST_S, SECONDS, SEED, TIDY_S, seconds

STORY_S = 900.0
POWER_S = 300.0
START_S = 120.0
STORM_S = seconds() + REST_S + TIDY_S + START_S


@pytest.mark.timeout(POWER_S + 20)
def test_a_run_goes_on_elsewhere_when_its_host_loses_its_power(play: Play) -> None:
    play("power", POWER_S)


@pytest.mark.timeout(STORY_S + 20)
@pytest.mark.soak(
    instead="tests/ledger/lifecycle/test_upgrade.py::test_the_version_before_works_until_this_one_took_over"
)
def test_the_previous_release_beside_this_one_is_refused_and_its_run_goes_on(play: Play) -> None:
    play("versions", STORY_S)


@pytest.mark.timeout(STORY_S + 20)
@pytest.mark.soak(
    instead="tests/hosts/test_hosts.py::test_a_run_goes_on_elsewhere_when_its_host_loses_its_power"
)
def test_a_run_goes_on_wherever_its_host_was_drained_cut_off_or_killed(play: Play) -> None:
    play("story", STORY_S)


@pytest.mark.timeout(STORY_S + 20)
@pytest.mark.soak(
    instead="tests/bot/flows/board/test_many_boards.py::test_cards_of_three_boards_of_two_owners_are_worked_on"
)
def test_what_was_seen_to_go_wrong_on_several_hosts_does_not(play: Play) -> None:
    play("seen", STORY_S)


@pytest.mark.timeout(STORM_S + 60)
@pytest.mark.soak(
    instead="tests/hosts/test_hosts.py::test_a_run_goes_on_elsewhere_when_its_host_loses_its_power"
)
def test_whatever_breaks_each_run_is_told_once_and_no_commit_is_lost(play: Play) -> None:
    given = {name: os.environ[name] for name in (SECONDS, SEED) if name in os.environ}
    print(play("storm", STORM_S, **given))
