"""Say how the card stands."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from rules.intents import Decision
from rules.policy import Policy
from rules.replies import say
from rules.roles import Role
from rules.snapshot import Snapshot
from rules.why import status

USAGE = "/cardinal status"
ROLE = Role.READ
TAKES = "none"
INSTEAD = "It always speaks of this card."


def obey(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Post the state of the card, its run and its pull request."""
    return say(snapshot, given, status(policy, snapshot, now))
