"""`/cardinal status`: how the card stands."""

from tests.rules.commands.cases import told
from tests.rules.scene import card, run


def test_it_says_state_run_and_column() -> None:
    text = told("status", card(run=run()))
    assert "**working** in `In Progress`" in text
    assert "r1 working, $0.42" in text
