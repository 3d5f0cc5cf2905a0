"""Bring an archived card back to the board, where it stood; that starts nothing."""

from collections.abc import Iterator
from datetime import datetime

from ledger.events.conversation import CommandGiven
from rules.chatops.offers import CommandOffer, Urgency
from rules.commands import archive
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot

USAGE = "/cardinal unarchive"
ROLE = Role.WRITE
MOVES = True
INSTEAD = "To bring back a description: `/cardinal restore`."


def offers(policy: Policy, snapshot: Snapshot) -> Iterator[CommandOffer]:
    if snapshot.archived:
        hint = "Back to its column; nothing starts"
        yield CommandOffer("unarchive", "Bring it back", hint, Urgency.CARD)


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Undo `/cardinal archive`, or an archiving on the board."""
    return archive.change(snapshot, given, wanted=False)
