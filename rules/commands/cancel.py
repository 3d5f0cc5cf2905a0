"""Cancel the run; its commits are kept."""

from collections.abc import Iterator
from datetime import datetime

from ledger.events.conversation import CommandGiven
from ledger.events.run import RunStopAsked
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
    if run and run.stop_asked != "cancel":
        hint = "End the run; its commits are kept"
        yield CommandOffer(f"cancel:{run.run_id}", "Cancel", hint, Urgency.END)


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Stop the live run for good; a card that was held back moves on once it has ended."""
    run = snapshot.live_run
    named = run_of_button(given.source)
    rerun = next((it for it in snapshot.reruns if it.run_id == named or (run is None and not named)), None)
    if rerun is not None:
        if rerun.stop_asked == "cancel":
            return say(snapshot, given, f"{rerun.run_id} is already being cancelled.", is_done=True)
        stop = RunStopAsked(rerun.run_id, "cancel", given.by, "/cardinal cancel")
        return Decision((stop,), (f"{given.by} cancels {rerun.run_id}",))
    check = snapshot.live_check
    if run is None and check is not None:
        if check.stop_by:
            return say(snapshot, given, f"{check.run_id} is already being cancelled.", is_done=True)
        stop = RunStopAsked(check.run_id, "cancel", given.by, "/cardinal cancel")
        return Decision((stop,), (f"{given.by} cancels {check.run_id}",))
    if run is None:
        return say(snapshot, given, "No run is active on this card, so there is nothing to cancel.")
    if run.stop_asked == "cancel":
        return say(snapshot, given, f"{run.run_id} is already being cancelled.", is_done=True)
    stop = RunStopAsked(run.run_id, "cancel", given.by, "/cardinal cancel")
    because = (f"{given.by} cancels {run.run_id}",)
    return answer_leaving(snapshot, run, given.by, cancel=True) + Decision((stop,), because)
