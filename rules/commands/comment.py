"""Comment on the card, as on its issue."""

from datetime import datetime

from ledger.events.conversation import CommandGiven, PersonSaid
from rules.chatops.listeners import deliver
from rules.chatops.replies import say, talk_of
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot

USAGE = "/cardinal comment <text>"
ROLE = Role.WRITE
TAKES = "text"


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Answer the open question with the words, or hand them to the agent; the card shows them anyway."""
    # The log says by GitHub's number which comment a reply of the assistant answers. Words from outside
    # GitHub have none in that order: it would answer them again and again, or never.
    if snapshot.live_run is None and snapshot.archetype.HAS_ASSISTANT:
        return say(
            snapshot, given, "The planning assistant answers plain comments: write yours on the issue."
        )
    words = PersonSaid(
        snapshot.card_id,
        given.comment_id,
        talk_of(given),
        given.by,
        trusted=True,
        text=given.argument,
        role=given.role,
        said_at=given.said_at,
    )
    return deliver(policy, snapshot, words, now)
