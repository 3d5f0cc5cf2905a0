"""Unblock the card; `by #12` removes that dependency."""

from collections.abc import Iterator
from datetime import datetime

from ledger.events.board import StopLifted
from ledger.events.conversation import CommandGiven
from rules.card.stops import describe_block, identify_stop
from rules.chatops.offers import MAX_ASKED, CommandOffer, Urgency
from rules.chatops.parser import SEEN_STOP
from rules.chatops.replies import STALE_STOP, is_stale_stop, say
from rules.commands import block, link
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot
from rules.text import plain

USAGE = "/cardinal unblock [by <issue>]"
ROLE = Role.WRITE
TAKES = "optional"
SCOPES = {"by": "unlink"}


def offers(policy: Policy, snapshot: Snapshot) -> Iterator[CommandOffer]:
    """Offer it, with the reason, for the block that holds the card."""
    for stop in snapshot.stops:
        if (stop.scope, stop.target) == ("card", snapshot.card_id) and stop.because:
            name, why = f"unblock:{SEEN_STOP}{identify_stop(stop)}", plain(stop.because, MAX_ASKED)
            yield CommandOffer(name, "Unblock the card", why, Urgency.RUN)


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Lift the stop of `/cardinal block` or `claim`; a run that it paused continues."""
    if issue := block.blocker(given):
        return link.change(snapshot, given, "blocked_by", issue, wanted=False)
    if given.argument.strip():
        return say(snapshot, given, "Nothing was changed: say `/cardinal unblock`, or `by #12`.")
    if is_stale_stop(snapshot, given):
        return say(snapshot, given, STALE_STOP)
    if not describe_block(snapshot.stops, snapshot.card_id):
        return say(
            snapshot, given, "No one has blocked this card. `/cardinal explain` says what it is waiting for."
        )
    lifted = StopLifted(snapshot.board_id, "card", snapshot.card_id, given.by)
    return Decision((lifted,), (f"{given.by} unblocks the card",))
