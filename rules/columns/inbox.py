"""inbox: ideas wait here; nobody serves them."""

from ledger.states import CardState
from rules.card.column_actions import derive_and_act, headlines
from rules.card.state import DerivedState, drag_on
from rules.policy.column import ColumnPolicy
from rules.policy.model import Policy
from rules.snapshot import Snapshot

STATES = (CardState.DRAFT, CardState.BLOCKED)
TAKES_NEW_CARDS = True
enter = derive_and_act


def derive(policy: Policy, snapshot: Snapshot) -> DerivedState:
    """A card here is a draft, whatever it was."""
    drag = drag_on(policy, snapshot.column, "planning", "execution")
    return DerivedState(CardState.DRAFT, f"nothing runs in this column: {drag} when it is worth doing")


def headline(column: ColumnPolicy) -> str:
    actions = headlines(column.entry_actions)
    return f"Entering {', '.join(actions)}." if actions else "Ideas wait here. Nothing runs."
