"""Say what state the card is in, and why."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from rules.chatops.replies import say
from rules.explain import card_status
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot

USAGE = "/cardinal status"
ROLE = Role.READ
INSTEAD = "It always reports on this card."
IS_SAFE = True


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Post the state of the card, its run and its pull request."""
    return say(snapshot, given, card_status(policy, snapshot))
