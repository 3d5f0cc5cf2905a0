"""Send the plan back with words; the agent makes another one."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from ledger.states import RUN_HELD, RunState
from rules.intents import Decision
from rules.inward import RedirectPlan, RequeueRun
from rules.policy import Policy
from rules.replies import say
from rules.roles import Role
from rules.snapshot import Snapshot

USAGE = "/cardinal redirect <text>"
ROLE = Role.WRITE
TAKES = "text"


def obey(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Redirect the newest plan where one waits for approval."""
    run, card = snapshot.live_run, snapshot.card_id
    if run and run.state is RunState.AWAITING_APPROVAL:
        intents = (
            RedirectPlan(card, run.run_id, given.by, given.argument),
            RequeueRun(card, run.run_id, "redirected"),
        )
        return Decision(intents, (f"{given.by} redirected plan {run.plan_revision} of {run.run_id}",))
    if run and run.state in RUN_HELD:
        text = (
            f"{run.run_id} is at work and has no plan that waits. Write a plain comment: the agent reads it."
        )
        return say(snapshot, given, text)
    return say(snapshot, given, "No plan waits for approval, so there is nothing to redirect.")
