"""Say in one line why the card does or does not move."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from rules.chatops.replies import say
from rules.explain import explain_with_workflow
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot
from rules.text import sentence

USAGE = "/cardinal explain"
ROLE = Role.READ
INSTEAD = "It always reports on this card."
IS_SAFE = True


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Post the reason."""
    return say(snapshot, given, sentence(explain_with_workflow(policy, snapshot)))
