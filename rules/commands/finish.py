"""Let the run finish, before the card goes where it was dragged."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from rules.chatops.replies import answer_leaving, say
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot
from rules.text import code

USAGE = "/cardinal finish"
ROLE = Role.WRITE
INSTEAD = "To tell the agent something: write a plain comment."


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Let a run whose card was dragged out continue to its end."""
    run = snapshot.live_run
    if run is None:
        return say(snapshot, given, "No run is active on this card, so there is nothing to finish.")
    if not snapshot.held_back:
        text = f"{run.run_id} finishes by itself: this is for a card that was dragged away mid-run."
        return say(snapshot, given, text)
    if run.is_cancelling:
        return say(
            snapshot, given, f"{run.run_id} is already being cancelled. `/cardinal retry` starts another run."
        )
    because = f"{run.run_id} may finish, then the card goes to {code(snapshot.held_back)}"
    return answer_leaving(snapshot, given.by, cancel=False) + Decision((), (because,))
