"""A repository's tool servers get the secrets of its own file, and a wrong file shows none of them."""

from dataclasses import replace
from pathlib import Path

import pytest

from bot.runspec.tool_secrets import FOLDER, tool_secrets
from bot.system.config import Config, ConfigError


@pytest.fixture
def written(config: Config, tmp_path: Path) -> Config:
    folder = tmp_path / FOLDER / "acme"
    folder.mkdir(parents=True)
    (folder / "shop.env").write_text("KEY=of-the-shop\n")
    (folder / "odd.env").write_text("KEY of-the-odd\n")
    return replace(config, home=tmp_path)


def test_each_repository_has_its_own(written: Config) -> None:
    assert tool_secrets(written, "Acme/Shop") == {"KEY": "of-the-shop"}
    for other in ("acme/other", "acme/shop/../shop", "../acme/shop"):
        assert tool_secrets(written, other) == {}


def test_a_line_that_is_none_is_named_without_its_text(written: Config) -> None:
    with pytest.raises(ConfigError, match=r"odd\.env line 1") as caught:
        tool_secrets(written, "acme/odd")
    assert "of-the-odd" not in str(caught.value)
