"""`cardinal rebuild`; `tests/ledger/lifecycle/test_rebuild.py` has the folding, in a process of its own."""

from bot.system.config import Config
from bot.system.program import TRIAL
from ledger.lifecycle.open import open_ledger
from tests.bot.cli.conftest import Cardinal
from tests.ledger.older import make_older
from tests.ledgers import new_ledger


def test_a_ledger_that_is_this_versions_needs_no_taking_back(cardinal: Cardinal, config: Config) -> None:
    open_ledger(config.database_url).dispose()
    answer = cardinal("rebuild", "--take-back")
    assert (answer.exit_code, answer.stdout) == (0, "the ledger belongs to this version again\n")


def test_a_ledger_that_is_taken_back_is_backed_up_first(cardinal: Cardinal, config: Config) -> None:
    make_older(new_ledger(config.database_url))
    answer = cardinal("rebuild", "--take-back")
    (copy,) = (config.home / "data").glob("upgrade-from-*")
    assert f"restore {copy}" in answer.stdout


def test_a_home_without_a_ledger_is_said_to_have_none(cardinal: Cardinal) -> None:
    refused = cardinal("rebuild")
    assert refused.exit_code == 2
    assert "no ledger" in refused.output


def test_a_ledger_of_an_older_cardinal_names_the_command_that_upgrades_it(
    cardinal: Cardinal, config: Config
) -> None:
    make_older(new_ledger(config.database_url))
    assert cardinal("board").stderr.endswith("run `cardinal up`\n")
    (config.home / TRIAL).touch()
    assert cardinal("board").stderr.endswith("run `cardinal try`\n")
