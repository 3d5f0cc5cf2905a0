"""Take people off the card's issue; `me` means yourself."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from rules.commands import assign
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot

USAGE = "/cardinal unassign <people>|me"
ROLE = Role.TRIAGE
TAKES = "optional"


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Remove them; that starts and stops nothing."""
    return assign.change(snapshot, given, wanted=False)
