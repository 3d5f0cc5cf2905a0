"""The operator's key for commits: used where a policy wants it, and said to be missing where it is."""

from pathlib import Path

import pytest

from bot.runspec.branch_rules import signing_key
from bot.system.config import ConfigError, read
from rules.policy.repository import Commits, RepositoryRules
from runner.run.run_spec import Committer, SigningKey

SIGNED = RepositoryRules(commits=Commits(sign="ssh"))


def test_the_key_of_the_home_signs_as_its_owner_where_the_policy_wants_it(tmp_path: Path) -> None:
    (tmp_path / ".cardinal").mkdir(mode=0o700)
    settings = tmp_path / ".cardinal" / "env"
    settings.write_text("CARDINAL_SIGNING_KEY=signing\nCARDINAL_SIGNING_AS=Acme Bot <bot@acme.example>\n")
    settings.chmod(0o600)
    config = read({}, tmp_path)
    owner = Committer("Acme Bot", "bot@acme.example")
    assert signing_key(config, SIGNED) == SigningKey(tmp_path / ".cardinal" / "signing", owner)
    assert signing_key(config, RepositoryRules()) is None


def test_a_host_without_a_key_says_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="set CARDINAL_SIGNING_KEY and CARDINAL_SIGNING_AS on each host"):
        signing_key(read({}, tmp_path), SIGNED)


def test_an_owner_without_an_address_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="CARDINAL_SIGNING_AS"):
        read({"CARDINAL_SIGNING_AS": "Acme Bot"}, tmp_path)
