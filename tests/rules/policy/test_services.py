"""Services that a repository's policy names."""

from typing import Any

import pytest

from rules.errors import PolicyError
from rules.policy.model import parse_repository


def services_of(written: str) -> Any:
    return parse_repository(f"version: 1\nrepository:\n  services:\n{written}").services


def test_the_name_of_an_image_is_enough() -> None:
    short, long = services_of("    db: postgres:16\n"), services_of("    db: {image: postgres:16}\n")
    assert short == long
    assert short["db"].image == "postgres:16"


@pytest.mark.parametrize(
    ("written", "said"),
    {
        "db: cardinal/setup:1": "is Cardinal's own",
        "localhost: postgres:16": "the agent's own container",
        "db.local: postgres:16": "should match pattern",
        "db: {command: [x]}": "image",
        "db: {image: x:1, ports: [70000]}": "65535",
        "db: {image: x:1, writable: [/data/../etc]}": "writable",
        "db: {image: x:1, environment: {A=B: x}}": "should match pattern",
        "db: {image: x:1, privileged: true}": "privileged",
    }.items(),
)
def test_what_cannot_be_one_is_refused_by_its_name(written: str, said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        services_of(f"    {written}\n")


def test_its_image_is_one_that_the_operator_lists() -> None:
    rules = parse_repository("version: 1\nrepository:\n  services: {db: 'postgres:16'}\n")
    assert rules.images["services.db.image"] == "postgres:16"
