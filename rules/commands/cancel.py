"""Cancel the run; its commits are kept."""

from collections.abc import Iterator
from datetime import datetime

from ledger.events.conversation import CommandGiven
from ledger.events.run import RunStopAsked
from ledger.states import StopKind
from rules.chatops.offers import CommandOffer, Urgency
from rules.chatops.parser import run_of_button
from rules.chatops.replies import answer_leaving, say
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot

USAGE = "/cardinal cancel"
ROLE = Role.WRITE
INSTEAD = "To tell the agent something: write a plain comment."
IS_SAFE = True


def offers(policy: Policy, snapshot: Snapshot) -> Iterator[CommandOffer]:
    run = snapshot.live_run
    if run and not run.is_cancelling:
        hint = "End the run; its commits are kept"
        yield CommandOffer(f"cancel:{run.run_id}", "Cancel", hint, Urgency.END)


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Stop the live run for good; a card that was held back moves on once it has ended."""
    run, named = snapshot.live_run, run_of_button(given.source)
    rerun = next((it for it in snapshot.reruns if it.run_id == named or (run is None and not named)), None)
    stopped = rerun or run or snapshot.live_check
    if stopped is None:
        return say(snapshot, given, "No run is active on this card, so there is nothing to cancel.")
    if stopped.is_cancelling:
        return say(snapshot, given, f"{stopped.run_id} is already being cancelled.", is_done=True)
    stop = RunStopAsked(stopped.run_id, StopKind.CANCEL, given.by, "/cardinal cancel")
    decision = Decision((stop,), (f"{given.by} cancels {stopped.run_id}",))
    return answer_leaving(snapshot, given.by, cancel=True) + decision if stopped is run else decision
