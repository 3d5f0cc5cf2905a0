"""inbox: ideas wait here; nobody serves them."""

from ledger.states import CardState
from rules.card.column_actions import act, headlines
from rules.card.state import Rest, settle
from rules.card.trigger import RuleTrigger
from rules.intents.outbound import Decision
from rules.policy.column import ColumnPolicy
from rules.policy.model import Policy
from rules.snapshot import Snapshot


def enter(policy: Policy, snapshot: Snapshot, column: ColumnPolicy, occasion: RuleTrigger) -> Decision:
    """Let the card rest."""
    return settle(policy, snapshot) + act(policy, snapshot, column.entry_actions, occasion)


def rest(policy: Policy, snapshot: Snapshot) -> Rest:
    """A card here is a draft, whatever it was."""
    return Rest(CardState.DRAFT, "nobody serves this column: drag the card on when it is worth it")


def headline(column: ColumnPolicy) -> str:
    """Say what entering means."""
    actions = headlines(column.entry_actions)
    return f"Entering {', '.join(actions)}." if actions else "Ideas wait here; nobody serves them."
