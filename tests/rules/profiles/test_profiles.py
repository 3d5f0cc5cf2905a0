"""A repository's profile: built in, or one of its own; anything else is a problem with what was meant."""

import pytest

from rules.errors import PolicyError
from rules.policy.model import parse, parse_repository
from rules.registry import PROFILES

FILE = "version: 1\nrepository:\n  profile: {}\n"


@pytest.mark.parametrize("name", PROFILES.names())
def test_a_built_in_profile_says_what_to_do_and_suggests_checks(name: str) -> None:
    part = PROFILES.load(name)
    assert part.TEXT.startswith("- ")
    assert len(part.TEXT.encode()) < 4_000
    assert "say what you ran" in " ".join(part.TEXT.split())
    assert all(isinstance(line, str) for line in (*part.SETUP, *part.FAST, *part.FULL))
    assert part.FULL
    suggested = f"{FILE.format(name)}  validation: {{fast: {list(part.FAST)}, full: {list(part.FULL)}}}\n"
    assert parse(suggested, home=None, profiles=()).repository.profile == name


def test_the_profiles_that_people_were_promised_are_there() -> None:
    promised = {"python_service", "rails_api", "node_app", "go_service", "docs"}
    assert promised <= set(PROFILES.names())


def test_an_unknown_profile_is_a_problem_with_its_line() -> None:
    with pytest.raises(PolicyError) as refused:
        parse_repository(FILE.format("python_servce"), ())
    assert refused.value.problems == (
        "line 3: repository.profile: unknown profile `python_servce`: did you mean python_service?",
    )


def test_a_repositorys_own_profile_is_known() -> None:
    assert parse_repository(FILE.format("our_shop"), ("our_shop",)).profile == "our_shop"
    with pytest.raises(PolicyError, match="did you mean our_shop"):
        parse_repository(FILE.format("our_shp"), ("our_shop",))


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "Python", "''", "x" * 41])
def test_a_profile_is_no_path(name: str) -> None:
    with pytest.raises(PolicyError):
        parse_repository(FILE.format(name))
