"""The priority of a card, chosen by a person or by the board's own field."""

from datetime import datetime

from ledger.events.preference import PriorityChosen, PrioritySeen
from rules.answers import answers
from rules.card.preferences import reorder_run
from rules.intents.outbound import Decision, UpdateFace
from rules.policy.model import Policy
from rules.snapshot import Snapshot


@answers(PriorityChosen, PrioritySeen)
def show_priority(
    policy: Policy, snapshot: Snapshot, event: PriorityChosen | PrioritySeen, now: datetime
) -> Decision:
    """Give a live run its new place in the queue, and show the priority on the card."""
    return reorder_run(policy, snapshot) + Decision((UpdateFace(snapshot.card_id),))
