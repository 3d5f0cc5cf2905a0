"""Bring an archived card back to the board, where it stood; that starts nothing."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from rules.commands import archive
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot

USAGE = "/cardinal unarchive"
ROLE = Role.WRITE
MOVES = True
INSTEAD = "To bring back a description: `/cardinal restore`."


def obey(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Undo `/cardinal archive`, or an archiving on the board."""
    return archive.change(snapshot, given, wanted=False)
