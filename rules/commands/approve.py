"""Approve the plan, so that the work begins, or the stage that waits for a person."""

from collections.abc import Iterator
from datetime import datetime

from ledger.events.conversation import CommandGiven
from ledger.events.run import PlanApproved, PlanRebound, PlanRedirected, RunRequeued
from ledger.rows.limit_answers import Code, Subject, subject_of
from ledger.rows.questions import QuestionRow
from ledger.rows.runs import RunRow
from ledger.states import Door, RunState
from rules.card.trigger import was_before
from rules.chatops.offers import CommandOffer, Urgency
from rules.chatops.parser import door_of, plan_of_approval, refusal_to_answer
from rules.chatops.replies import beaten_by, choose_answer, describe_earlier_answer, say
from rules.intents.outbound import Decision, Intent, UntickBoxes
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.runs import plan_approval
from rules.snapshot import Snapshot
from rules.text import code

USAGE = "/cardinal approve"
ROLE = Role.WRITE
INSTEAD = "To change the plan: `/cardinal redirect <text>`."
STAGES = (Subject.START, Subject.STAGE, Subject.STAGE_LOOPS)
BY_RULES = "Cardinal"  # who sends a plan back because the issue is another one now


def offers(policy: Policy, snapshot: Snapshot) -> Iterator[CommandOffer]:
    run = snapshot.live_run
    if run and run.state is RunState.AWAITING_APPROVAL and not run.is_cancelling:
        name = f"approve:{run.run_id}:{run.plan_revision}"
        hint = f"Work begins; {run.run_id}'s page has the plan"  # 40 characters fit a button
        yield CommandOffer(name, "Approve the plan", hint, Urgency.RUN)


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Approve the newest plan where one waits, or let the stage begin that waits."""
    run = snapshot.live_run
    if run is None:
        return say(
            snapshot,
            given,
            "No run is active, so no plan is waiting for approval. `/cardinal retry` starts one.",
        )
    if snapshot.question is not None and subject_of(snapshot.question) in STAGES and not _of_a_plan(given):
        return _stage(policy, snapshot, run, snapshot.question, given, now=now)
    first = None if _of_a_plan(given) else beaten_by(snapshot, given.by, given.said_at, now)
    if first is not None:
        return say(snapshot, given, describe_earlier_answer(run, first, "your approval changed nothing"))
    if run.plan_approved or not run.plan_required:
        by = f" by {code(snapshot.plan_by, 40)}" if snapshot.plan_by else ""
        return say(
            snapshot,
            given,
            f"{run.run_id} needs no approval: its plan is approved already{by}.",
            is_done=True,
        )
    if run.state is not RunState.AWAITING_APPROVAL:
        text = f"{run.run_id} has no plan to approve yet: it will be posted here."
        if snapshot.plan_by:
            by, plan = code(snapshot.plan_by, 40), f"plan {run.plan_revision} of {run.run_id}"
            text = f"{by} sent {plan} back first: {text}"
        return say(snapshot, given, text)
    shown = plan_of_approval(given.source)
    if shown is not None and shown != (run.run_id, run.plan_revision):
        return say(
            snapshot,
            given,
            f"That was an older plan: the current one of {run.run_id} is plan {run.plan_revision}.",
        )
    if snapshot.plan and was_before(given.said_at, snapshot.plan.at, now):
        text = f"Plan {run.plan_revision} was posted after you wrote that: read it, then approve it."
        return say(snapshot, given, text)
    stale = _stale(snapshot, run, given)
    if stale is not None:
        return stale
    because = f"{given.by} approved plan {run.plan_revision} of {run.run_id}"
    approved = PlanApproved(run.run_id, run.plan_revision, given.by, plan_approval.digest_of_plan(snapshot))
    return Decision((approved, RunRequeued(run.run_id, "approved")), (because,))


def _of_a_plan(given: CommandGiven) -> bool:
    """Whether a box, a button or a form named the plan: a stage has choices of its own."""
    return plan_of_approval(given.source) is not None


def _stage(
    policy: Policy,
    snapshot: Snapshot,
    run: RunRow,
    question: QuestionRow,
    given: CommandGiven,
    *,
    now: datetime,
) -> Decision:
    """Answer a question about the run's next stage with its first choice, so that it continues."""
    if was_before(given.said_at, question.asked_at, now):
        return say(snapshot, given, f"The question of {run.run_id} was posted after you wrote that: read it.")
    refused = refusal_to_answer(policy, subject_of(question), role=given.role, login=given.by)
    return say(snapshot, given, refused) if refused else choose_answer(run, question, given.by, Code.GO_ON)


def _stale(snapshot: Snapshot, run: RunRow, given: CommandGiven) -> Decision | None:
    """Return the decision on an approval of something that changed since the plan; None where nothing did.

    Another issue needs another plan. A plan on an older base or policy may fit still: that is for the one who
    approves to say, once more and knowing it.
    """
    card, plan = snapshot.card_id, f"Plan {run.plan_revision} of {run.run_id}"
    if plan_approval.is_reworded(snapshot):
        anew = (
            f"{plan} was not approved: {plan_approval.ISSUE} changed since it was made, so a new one is made."
        )
        why = f"No one objected, but {plan_approval.ISSUE} changed: read it again in the briefing."
        again = (
            PlanRedirected(run.run_id, run.plan_revision, BY_RULES, why),
            RunRequeued(run.run_id, "redirected"),
        )
        return Decision(again, (anew,)) + say(snapshot, given, anew)
    changed = plan_approval.list_changes_since(snapshot, given.base)
    if not changed:
        return None
    text = f"{plan} was not approved yet: since it was made, {' and '.join(changed)}."
    text += " Approve it again if it still fits, or `/cardinal redirect <text>`."
    base = given.base or (snapshot.plan.base if snapshot.plan else "")
    rebind = PlanRebound(run.run_id, run.plan_revision, base, snapshot.policy_digest)
    boxed = door_of(given.source) == Door.BOX
    untick: tuple[Intent, ...] = (UntickBoxes(card, given.place, given.comment_id),) if boxed else ()
    return Decision((rebind, *untick), (text,)) + say(snapshot, given, text)
