"""A Cardinal in this process against a forge of its own; and what one check of the doctor needs."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.admin.doctor import DoctorContext
from bot.github.client import Hub
from bot.system import config as configuration
from bot.system.secret import Secret
from ledger.events.policy import PolicyLoaded
from ledger.log import event_store
from tests.bot.flows.conftest import cardinal
from tests.ledger.queue.test_hosts import beat
from tests.ledger.samples import BOARD, NOW, board_seen
from tests.ledgers import new_ledger

__all__ = ["cardinal"]

POLICY = """
version: 1
board:
  columns:
    In Progress: {archetype: execution, agent: scripted, model: test}
    Heavy: {archetype: execution, agent: claude, model: default, runs_on: [gpu, eu]}
"""


@pytest.fixture
def context(tmp_path: Path) -> Iterator[DoctorContext]:
    """Return what a check is given: a ledger with a board, and hosts b and c of one version."""
    ledger = new_ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    with event_store.writing(ledger) as db:
        event_store.append(db, board_seen(), PolicyLoaded(BOARD, "d", POLICY, ""), at=NOW)
    beat(ledger, "b", labels=("eu", "gpu", "big"))
    beat(ledger, "c")
    settings = {"CARDINAL_HOME": str(tmp_path / "home"), "CARDINAL_WORKSPACE": "docker"}
    config = replace(configuration.read(settings, tmp_path), anthropic_key=Secret("k"))
    yield DoctorContext(config, ledger, Hub(config, lambda: NOW), NOW)
    ledger.dispose()
