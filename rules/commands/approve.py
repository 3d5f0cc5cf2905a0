"""Approve the plan, so that the work begins."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from ledger.states import RunState
from rules.command_line import approved_plan
from rules.intents import ApprovePlan, Decision, RequeueRun
from rules.occasion import was_before
from rules.policy import Policy
from rules.replies import say
from rules.roles import Role
from rules.snapshot import Snapshot

USAGE = "/cardinal approve"
ROLE = Role.WRITE
TAKES = "none"
INSTEAD = "To change the plan: `/cardinal redirect <text>`."


def obey(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Approve the newest plan where one waits."""
    run = snapshot.live_run
    if run is None:
        return say(
            snapshot, given, "No run is alive, so no plan waits for approval. `/cardinal retry` starts one."
        )
    if run.plan_approved or not run.plan_required:
        return say(snapshot, given, f"{run.run_id} needs no approval: its plan is approved already.")
    if run.state is not RunState.AWAITING_APPROVAL:
        text = f"{run.run_id} has no plan that waits for approval yet: it will be posted here when it has."
        return say(snapshot, given, text)
    shown = approved_plan(given.source)
    if shown is not None and shown != (run.run_id, run.plan_revision):
        return say(
            snapshot, given, f"That was an older plan: {run.run_id} waits with plan {run.plan_revision} now."
        )
    if was_before(given.said_at, run.plan_at):
        text = f"Plan {run.plan_revision} was posted after that was written: look at it, then approve it."
        return say(snapshot, given, text)
    card, because = snapshot.card_id, f"{given.by} approved plan {run.plan_revision} of {run.run_id}"
    intents = (ApprovePlan(card, run.run_id, given.by), RequeueRun(card, run.run_id, "approved"))
    return Decision(intents, (because,))
