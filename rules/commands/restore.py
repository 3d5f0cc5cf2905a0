"""Bring back the description that people wrote, in place of the one that a rule's model wrote out."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from rules.chatops.replies import about, say
from rules.intents.outbound import Decision
from rules.intents.rule_results import RestoreBody
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot

USAGE = "/cardinal restore"
ROLE = Role.TRIAGE
INSTEAD = "GitHub's history of edits has older descriptions."


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Write the folded description back, if no one has edited the model's since."""
    if not snapshot.expanded:
        return say(snapshot, given, "The description is as people wrote it: there is nothing to restore.")
    because = f"{given.by} wants the description back that people wrote"
    return Decision((RestoreBody(snapshot.card_id, about(given)),), (because,))
