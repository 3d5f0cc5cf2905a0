"""A fresh ledger for each test of a text."""

from pathlib import Path

import pytest

from tests.bot.render.past import Past
from tests.ledgers import new_ledger


@pytest.fixture
def past(tmp_path: Path) -> Past:
    """A board with one card and one queued run."""
    found = Past(new_ledger(f"sqlite:///{tmp_path / 'ledger.db'}"))
    found.board()
    found.card()
    found.run()
    return found
