"""`cardinal hosts` lists the machines that work, drains one, and forgets one that is gone."""

import json

import pytest
from sqlalchemy import Engine

from bot.system.config import Config
from tests.bot.cli.conftest import Cardinal
from tests.ledger.queue.test_hosts import at_work, beat, fall_silent
from tests.ledgers import new_ledger


@pytest.fixture
def engine(config: Config) -> Engine:
    """Return the home's ledger with two hosts, one of which fell silent."""
    made = new_ledger(config.database_url)
    beat(made, "b", slots=4, labels=("eu", "gpu"))
    beat(made, "c")
    fall_silent(made, "c")
    return made


@pytest.mark.usefixtures("engine")
def test_every_host_is_listed_with_its_state(cardinal: Cardinal) -> None:
    said = cardinal("hosts").stdout.splitlines()
    assert [row.split()[:2] for row in said] == [["host", "state"], ["b", "alive"], ["c", "dead"]]
    assert "eu, gpu" in said[1]
    b, c = json.loads(cardinal("hosts", "--json").stdout)["hosts"]
    assert (b["host"], b["state"], b["slots"], b["runs"], b["labels"]) == ("b", "alive", 4, [], ["eu", "gpu"])
    assert c["state"] == "dead"


def test_a_host_is_drained_and_takes_runs_again(cardinal: Cardinal, engine: Engine) -> None:
    assert "drained" in cardinal("hosts", "--drain", "b").stdout
    assert at_work(engine) == []
    assert "drained" not in cardinal("hosts", "--undrain", "b").stdout
    assert at_work(engine) == ["b"]


@pytest.mark.usefixtures("engine")
def test_a_host_that_is_gone_is_forgotten_and_one_that_lives_is_not(cardinal: Cardinal) -> None:
    refused = cardinal("hosts", "--remove", "b")
    assert refused.exit_code == 2
    assert "b is still alive" in refused.output
    assert "dead" not in cardinal("hosts", "--remove", "c").stdout
    again = cardinal("hosts", "--remove", "c")
    assert again.exit_code == 2
    assert "no host named c" in again.output


def test_a_home_without_hosts_says_so(cardinal: Cardinal, config: Config) -> None:
    new_ledger(config.database_url).dispose()
    assert "no hosts yet" in cardinal("hosts").stdout
