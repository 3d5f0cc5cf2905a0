"""Archive the card on the board; `/cardinal unarchive` brings it back."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from rules.chatops.replies import about, say
from rules.intents.by_command import ArchiveCard
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot

USAGE = "/cardinal archive"
ROLE = Role.WRITE
MOVES = True
INSTEAD = "It is always about this card."


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Take the card off, if you may move it; one with a live run or an open pull request stays."""
    run, pull = snapshot.live_run, snapshot.open_pull
    if run is not None:
        text = (
            f"{run.run_id} has not ended, so the card stays: `/cardinal cancel` first, or archive it there."
        )
        return say(snapshot, given, text)
    if pull is not None:
        text = f"Pull request #{pull.number} is open, so the card stays: merge or close it first."
        return say(snapshot, given, text)
    return change(snapshot, given, wanted=True)


def change(snapshot: Snapshot, given: CommandGiven, *, wanted: bool) -> Decision:
    """Archive the card or bring it back, unless it is so already."""
    if snapshot.archived == wanted:
        return say(
            snapshot, given, f"The card is {'already archived' if wanted else 'on the board'}.", is_done=True
        )
    act = ArchiveCard(snapshot.card_id, wanted, given.by, given.role, about(given))
    return Decision((act,), (f"{given.by} {given.command}s the card",))
