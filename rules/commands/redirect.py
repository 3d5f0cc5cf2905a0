"""Send the plan back, saying what to change; an agent at work reads it at its next step."""

from collections.abc import Iterator
from datetime import datetime

from ledger.events.conversation import CommandGiven
from ledger.events.run import PlanRedirected, RunRequeued, RunSteered
from ledger.states import RUN_HELD, RunState
from rules.chatops.offers import CommandOffer, Urgency
from rules.chatops.replies import say
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot
from rules.text import code

USAGE = "/cardinal redirect <text>"
ROLE = Role.WRITE
TAKES = "text"


def offers(policy: Policy, snapshot: Snapshot) -> Iterator[CommandOffer]:
    """Offer words for the plan that waits, or to the agent at work."""
    run = snapshot.live_run
    if run is None or run.is_cancelling:
        return
    name = f"redirect:{run.run_id}"
    if run.state is RunState.AWAITING_APPROVAL:
        asks = "What should be different"
        yield CommandOffer(name, "Send the plan back", "For another plan", Urgency.WORDS, asks=asks)
    elif run.state in RUN_HELD:
        hint = "The agent reads it at its next step"
        yield CommandOffer(name, "Message the agent", hint, Urgency.WORDS, asks="Your words")


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Redirect the newest plan where one waits for approval, else steer the agent."""
    run = snapshot.live_run
    if run and run.state is RunState.AWAITING_APPROVAL:
        intents = (
            PlanRedirected(run.run_id, run.plan_revision, given.by, given.argument),
            RunRequeued(run.run_id, "redirected"),
        )
        return Decision(intents, (f"{given.by} redirected plan {run.plan_revision} of {run.run_id}",))
    if run is None:
        return say(snapshot, given, "No plan is waiting for approval, so there is nothing to redirect.")
    by = f": {code(snapshot.plan_by, 40)} settled plan {run.plan_revision}" if snapshot.plan_by else ""
    if run.state in RUN_HELD or run.session_id:
        steer = RunSteered(run.run_id, given.by, given.argument, given.comment_id)
        text = f"No plan of {run.run_id} is waiting{by}. Its agent reads your words at its next step."
        return Decision((steer,), (text,)) + say(snapshot, given, text)
    text = (
        f"No plan of {run.run_id} is waiting{by}. Write a comment instead: its agent reads it when it starts."
    )
    return say(snapshot, given, text)
