"""`/cardinal explain`: why the card does or does not move."""

from ledger.states import CardState, RunState
from tests.rules.commands.cases import told
from tests.rules.scene import card, run


def test_it_says_who_must_do_what() -> None:
    text = told("explain", card(state=CardState.NEEDS_INPUT, run=run(RunState.AWAITING_APPROVAL)))
    assert text.startswith("r1 is waiting for anyone with write access to approve its plan")
