"""Whose private skills a board's runs can have: never those of another owner."""

from pathlib import Path

import pytest

from bot.repo_config import skills
from tests.bot.system.test_model_keys import config_of


def home_with(tmp_path: Path, *owners: str) -> Path:
    """Return a home with a folder of skills for the operator and each of the owners."""
    for name in ("mine", *(f"{skills.PRIVATE_FOLDER}/{owner}" for owner in owners)):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


def test_each_owner_has_its_own_and_the_first_one_the_operators(tmp_path: Path) -> None:
    home = home_with(tmp_path, "beta")
    config = config_of(home, CARDINAL_SKILLS="mine")
    assert skills.private_folders(config, "Acme") == (home / "mine",)
    assert skills.private_folders(config, "BETA") == (home / skills.PRIVATE_FOLDER / "beta",)
    assert skills.private_folders(config, "gamma") == ()


def test_the_operators_are_shared_where_that_is_set_and_an_owners_own_count_before(tmp_path: Path) -> None:
    home = home_with(tmp_path, "beta")
    config = config_of(home, CARDINAL_SKILLS="mine", CARDINAL_SHARE_WITH_OWNERS="true")
    assert skills.private_folders(config, "beta") == (home / "mine", home / skills.PRIVATE_FOLDER / "beta")
    assert skills.private_folders(config, "gamma") == (home / "mine",)


@pytest.mark.parametrize("owner", ["../skills/beta", "", ".", "beta/../beta"])
def test_no_login_leads_to_another_owners_folder(tmp_path: Path, owner: str) -> None:
    assert skills.private_folders(config_of(home_with(tmp_path, "beta")), owner) == ()
