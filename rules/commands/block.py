"""Block the card with a reason: no run starts on it, one at work is paused; `by #12` adds a dependency."""

from collections.abc import Iterator
from datetime import datetime

from ledger.events.board import StopOrdered
from ledger.events.conversation import CommandGiven
from rules.card.stops import describe_block
from rules.chatops.offers import CommandOffer, Urgency
from rules.chatops.replies import say
from rules.commands import link
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot
from rules.text import plain, sentence

USAGE = "/cardinal block <reason>|by <issue>"
ROLE = Role.WRITE
TAKES = "optional"
SCOPES = {"by": "link"}
IS_SAFE = True
MAX_REASON = 200  # characters


def offers(policy: Policy, snapshot: Snapshot) -> Iterator[CommandOffer]:
    """Offer it where no run is alive and no one holds the card."""
    if snapshot.live_run is None and not describe_block(snapshot.stops, snapshot.card_id):
        hint = "Block: no run starts until someone unblocks it"
        yield CommandOffer("block", "Block", hint, Urgency.CARD, asks="Why")


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Hold the card until `/cardinal unblock`; the board, and anyone who asks for a run, sees the reason."""
    if issue := blocker(given):
        return link.change(snapshot, given, "blocked_by", issue, wanted=True)
    reason = plain(given.argument, MAX_REASON)
    if not reason:
        return say(snapshot, given, "Say why: `/cardinal block waiting for the contract`, or `by #12`.")
    return hold(snapshot, given, reason)


def blocker(given: CommandGiven) -> str:
    """Return the issue of a `by #12`, or an empty string."""
    word, _, issue = given.argument.strip().partition(" ")
    return issue.strip() if word.lower() == "by" and link.ISSUE.fullmatch(issue.strip()) else ""


def hold(snapshot: Snapshot, given: CommandGiven, reason: str, *, claims: bool = False) -> Decision:
    """Stop the card with a reason, unless it is stopped already."""
    if held := describe_block(snapshot.stops, snapshot.card_id):
        return say(snapshot, given, sentence(f"Nothing was changed: {held}"))
    order = StopOrdered(
        board_id=snapshot.board_id,
        scope="card",
        target=snapshot.card_id,
        by=given.by,
        because=reason,
        claims=claims,
    )
    return Decision((order,), (f"{given.by} blocks the card: {reason}",))
