"""What the operator gives to a repository: images by a list, secrets by a file; a later one has neither."""

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.github.api.repositories import Base
from bot.runspec.operator_grants import (
    IMAGES,
    SECRETS,
    SEEN,
    may_build,
    require_granted,
    tool_secrets,
)
from bot.system.config import Config, ConfigError
from rules.policy.model import parse
from runner.run.run_spec import (
    Authorship,
    Briefing,
    Committer,
    HostPaths,
    ImageRecipe,
    Limits,
    RunSpec,
    ToolServerSpec,
)

NOW = datetime.now(UTC)
FIRST = Base("main", "a" * 40, "11", NOW - timedelta(days=90))
SECOND = Base("main", "b" * 40, "12", NOW - timedelta(days=1))
LATER = Base("main", "c" * 40, "13", NOW + timedelta(days=1))
TEXTS = (
    *("run_id", "card_id", "kind", "title", "branch", "base_branch", "agent", "model", "session_id"),
    "instructions",
)
RULES = "version: 1\nrepository:\n  image: {}\n"


@pytest.fixture
def home(config: Config, tmp_path: Path) -> Config:
    folder = tmp_path / SECRETS / "acme"
    folder.mkdir(parents=True)
    (folder / "shop.env").write_text("KEY=of-the-shop\n")
    (folder / "odd.env").write_text("KEY of-the-odd\n")
    return replace(config, home=tmp_path)


def spec(name: str = "Acme/Shop") -> RunSpec:
    nowhere = Path("/nonexistent")
    texts: dict[str, Any] = dict.fromkeys(TEXTS, "") | dict.fromkeys(("attempt", "generation", "number"), 1)
    return RunSpec(
        **texts,
        repository=name,
        plan_required=False,
        briefing=Briefing(""),
        limits=Limits(),
        paths=HostPaths(nowhere, nowhere, nowhere, nowhere),
        authorship=Authorship(Committer("Cardinal", "cardinal@localhost")),
        workspace="docker",
        servers=(ToolServerSpec("docs", ("x",), secrets=("KEY",)),),
    )


def require(home: Config, order: RunSpec, base: Base, image: str = "cardinal/agent") -> None:
    require_granted(home, order, parse(RULES.format(image), home=None).repository, base)


def test_secrets_are_those_of_the_repository_that_had_them_first(home: Config) -> None:
    assert tool_secrets(home, "Acme/Shop", "11") == {}  # nothing has looked at whose they are
    require(home, spec(), FIRST)
    assert tool_secrets(home, "Acme/Shop", "11") == {"KEY": "of-the-shop"}
    with pytest.raises(ConfigError, match=rf"another one: .* removes `{SEEN}/acme/shop\.id`"):
        require(home, spec(), SECOND)
    for other, number in (("Acme/Shop", "12"), ("Acme/Shop", ""), ("acme/x", ""), ("../acme/shop", "11")):
        assert tool_secrets(home, other, number) == {}
    (home.home / SEEN / "acme/shop.id").unlink()
    require(home, spec(), SECOND)
    assert tool_secrets(home, "acme/shop", "12") == {"KEY": "of-the-shop"}


def test_secrets_from_before_the_repository_was_made_are_not_its(home: Config) -> None:
    with pytest.raises(ConfigError, match=r"touch tool-secrets/acme/shop\.env"):
        require(home, spec(), LATER)
    file = home.home / SECRETS / "acme/shop.env"
    os.utime(file, (LATER.born_at.timestamp() + 60,) * 2)
    require(home, spec(), LATER)


def test_a_line_that_is_none_is_named_without_its_text(home: Config) -> None:
    require(home, spec("acme/odd"), FIRST)
    with pytest.raises(ConfigError, match=r"odd\.env line 1") as caught:
        tool_secrets(home, "acme/odd", "11")
    assert "of-the-odd" not in str(caught.value)


def test_an_image_is_opened_where_owner_or_repository_has_it_listed(home: Config) -> None:
    order = replace(spec(), servers=())
    with pytest.raises(
        ConfigError, match=r"not in the operator's list for Acme/Shop: the operator adds it to"
    ):
        require(home, order, FIRST, "acme/ci:1")
    for line in ("Acme: [acme/ci]", "ACME/shop: ['acme/ci:1']"):
        (home.home / IMAGES).write_text(line)
        require(home, order, FIRST, "acme/ci:1")
        with pytest.raises(ConfigError):
            require(home, replace(order, repository="other/shop"), FIRST, "acme/ci:1")
    with pytest.raises(ConfigError, match="another one"):
        require(home, order, SECOND, "acme/ci:1")
    require(home, replace(order, workspace="local"), SECOND, "acme/none:1")  # no image is opened there


def test_a_devcontainer_makes_an_image_where_the_list_says_so_and_for_that_repository_alone(
    home: Config,
) -> None:
    order = replace(spec(), servers=(), recipe=ImageRecipe(".devcontainer.json", image="a:1"))
    assert not may_build(home, "acme/shop")
    for line in ("Acme: [devcontainer]", "ACME/shop: [devcontainer, acme/ci]"):
        (home.home / IMAGES).write_text(line)
        assert may_build(home, "Acme/Shop")
        assert not may_build(home, "other/shop")
        require(home, order, FIRST)
    with pytest.raises(ConfigError, match="another one"):
        require(home, order, SECOND)


@pytest.mark.parametrize(
    "text", ["", "x", "acme: 8", "acme: ['8']", "acme: [cardinal/setup:1]", "a/b/c: [x]"]
)
def test_a_list_that_is_none_stops_the_run_and_says_where(home: Config, text: str) -> None:
    (home.home / IMAGES).write_text(text)
    with pytest.raises(ConfigError, match=r"images\.yml"):
        require(home, spec(), FIRST)
