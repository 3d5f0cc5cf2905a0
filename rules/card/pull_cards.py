"""Cards that are pull requests themselves: Cardinal shows why it does nothing for them."""

from collections.abc import Mapping

from ledger.states import CardState, PullCard, Reason
from rules.card.state import change_state, derive_state
from rules.intents.outbound import Decision, Say
from rules.policy.model import Policy
from rules.snapshot import Snapshot
from rules.text import sentence

_INSTEAD = "Add its issue to the board, or write one, and drag that card"
SENTENCES: Mapping[PullCard, str] = {
    PullCard.FORK: f"This pull request comes from a fork: Cardinal does not work on it. {_INSTEAD}",
    PullCard.OTHER: f"Cardinal did not open this pull request, and does not work on it. {_INSTEAD}",
    PullCard.OWN: "Cardinal opened this pull request for another card: drag that one, here nothing happens",
}


def explain_pull_card(policy: Policy, snapshot: Snapshot, *, entered: bool) -> Decision:
    """Show on the card's face why nothing happens; say it once, where it `entered` a column that works."""
    because = SENTENCES[snapshot.pull_card]
    archetype, column = policy.archetype(snapshot.column), policy.column(snapshot.column)
    if column is None or (archetype.IS_FINAL and not column.on_entry):
        return derive_state(policy, snapshot)  # nothing would happen for any card
    shown = change_state(policy, snapshot, CardState.BLOCKED, because, Reason.OUT_OF_REACH)
    if entered and (archetype.STARTS_RUNS or archetype.HAS_ASSISTANT):
        shown += Decision((Say(snapshot.card_id, "pull-card", sentence(because)),))
    return shown
