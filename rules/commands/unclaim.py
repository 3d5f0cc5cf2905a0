"""Give a card back that you claimed: you are unassigned, and runs may start on it."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from rules.card.stops import describe_block
from rules.chatops.replies import about, say
from rules.commands import unblock
from rules.intents.by_command import ChangeAssignees
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot
from rules.text import sentence

USAGE = "/cardinal unclaim"
ROLE = Role.WRITE
ALSO = ("unassign", "unblock")
INSTEAD = "Others are unassigned with `/cardinal unassign <people>`."


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Undo your own `/cardinal claim`."""
    stops = [stop for stop in snapshot.stops if stop.claims and stop.by.casefold() == given.by.casefold()]
    if not describe_block(stops, snapshot.card_id):
        held = describe_block(snapshot.stops, snapshot.card_id) or "no one has claimed it"
        return say(snapshot, given, sentence(f"You have not claimed this card: {held}"))
    unassign = ChangeAssignees(snapshot.card_id, (given.by,), False, about(given))
    return unblock.handle(policy, snapshot, given, now) + Decision((unassign,))
