"""terminal: the end of a card's way; its pull request is merged here, where the policy says so."""

from ledger.states import CardState, PullState
from rules.card.column_actions import derive_and_act, has_action, headlines
from rules.card.state import DerivedState
from rules.policy.column import ColumnPolicy
from rules.policy.model import Policy
from rules.snapshot import Snapshot

STATES = (CardState.DONE, CardState.BLOCKED)
IS_FINAL = True
enter = derive_and_act


def derive(policy: Policy, snapshot: Snapshot) -> DerivedState | None:
    """A card is done unless its pull request still has to be merged here."""
    pull, column = snapshot.pull, snapshot.column_policy
    if pull and pull.state is PullState.OPEN and column and has_action(column.entry_actions, "merge"):
        return None
    return DerivedState(CardState.DONE, f"pull request #{pull.number} is {pull.state}" if pull else "done")


def headline(column: ColumnPolicy) -> str:
    actions = headlines(column.entry_actions)
    return f"Entering {' and '.join(actions)}." if actions else "Finished cards stay here."
