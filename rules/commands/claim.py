"""Take the card for yourself: you are assigned, and no run starts on it until it is unblocked."""

from collections.abc import Iterator
from datetime import datetime

from ledger.events.conversation import CommandGiven
from rules.card.stops import describe_block
from rules.chatops.offers import CommandOffer, Urgency
from rules.chatops.replies import about, say
from rules.commands import block
from rules.intents.by_command import ChangeAssignees
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot

USAGE = "/cardinal claim"
ROLE = Role.WRITE
ALSO = ("assign", "block")
INSTEAD = "Others are assigned with `/cardinal assign <people>`."


def offers(policy: Policy, snapshot: Snapshot) -> Iterator[CommandOffer]:
    """Offer it where no one works on the card or holds it."""
    if snapshot.live_run is None and not describe_block(snapshot.stops, snapshot.card_id):
        hint = "It is yours: no run starts on it until someone unblocks it"
        yield CommandOffer("claim", "Claim", hint, Urgency.CARD)


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Assign you and block the card, unless it has a live run or is blocked."""
    run = snapshot.live_run
    if run is not None:
        text = (
            f"{run.run_id} has not ended, so the card is not free: `/cardinal cancel` first, then claim it."
        )
        return say(snapshot, given, text)
    decision = block.hold(snapshot, given, "claimed", claims=True)
    if describe_block(snapshot.stops, snapshot.card_id):
        return decision
    return decision + Decision((ChangeAssignees(snapshot.card_id, (given.by,), True, about(given)),))
