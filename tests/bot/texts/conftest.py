"""A fresh ledger for each test of a text."""

from pathlib import Path

import pytest

from ledger.engine import open_ledger
from tests.bot.texts.past import Past


@pytest.fixture
def past(tmp_path: Path) -> Past:
    """A board with one card and one queued run."""
    found = Past(open_ledger(f"sqlite:///{tmp_path / 'ledger.db'}"))
    found.board()
    found.card()
    found.run()
    return found
