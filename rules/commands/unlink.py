"""Remove a dependency on GitHub, between this issue and another one of its repository."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from rules.commands import link
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot

USAGE = "/cardinal unlink blocked_by|blocks <issue>"
ROLE = Role.TRIAGE
TAKES = "optional"


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Remove it; a queued run that nothing else blocks starts by itself."""
    relation, _, issue = given.argument.strip().partition(" ")
    return link.change(snapshot, given, relation.lower().replace("-", "_"), issue, wanted=False)
