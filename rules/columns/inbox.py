"""inbox: ideas wait here; nobody serves them."""

from ledger.states import CardState
from rules.acting import act, headlines
from rules.card_state import Rest, settle
from rules.intents import Decision
from rules.occasion import Occasion
from rules.policy import Policy
from rules.policy_column import ColumnPolicy
from rules.snapshot import Snapshot


def enter(policy: Policy, snapshot: Snapshot, column: ColumnPolicy, occasion: Occasion) -> Decision:
    """Let the card rest."""
    return settle(policy, snapshot) + act(policy, snapshot, column.entry_actions, occasion)


def rest(policy: Policy, snapshot: Snapshot) -> Rest:
    """A card here is a draft, whatever it was."""
    return Rest(CardState.DRAFT, "nobody serves this column: drag the card on when it is worth it")


def headline(column: ColumnPolicy) -> str:
    """Say what entering means."""
    actions = headlines(column.entry_actions)
    return f"Entering {', '.join(actions)}." if actions else "Ideas wait here; nobody serves them."
