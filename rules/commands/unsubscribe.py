"""Stop following this card; your general notices still reach you."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from ledger.events.subscription import CardUnsubscribed
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot

USAGE = "/cardinal unsubscribe"
ROLE = Role.READ
INSTEAD = "It is always about this card and you."


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """End your subscription to the card and to its run."""
    ended = CardUnsubscribed(snapshot.card_id, given.by, "")
    return Decision((ended,), (f"{given.by} no longer follows the card",))
