"""A card that a program asked for is there: it gets its choices, and goes to its column for the account."""

from datetime import datetime

from ledger.events.board import CardSeen
from ledger.events.budget import BudgetRaised
from ledger.events.instruction import AgentPinned, SkillsPinned, WorkflowPinned
from ledger.events.job import JobMade
from ledger.events.preference import LimitsChosen, PriorityChosen
from ledger.events.run import RunQueued
from ledger.model.column_names import same_column
from rules.answers import answers
from rules.handlers import card_moved
from rules.intents.outbound import Decision, MoveCard
from rules.policy.model import Policy
from rules.snapshot import Snapshot
from rules.text import usd


@answers(CardSeen, by_mover=True, reads=("job",))
def place_new_card(policy: Policy, snapshot: Snapshot, event: CardSeen, now: datetime) -> Decision:
    """Serve a card that is seen for the first time, and place it where it is known already who asked."""
    return card_moved.serve_new_card(policy, snapshot, event, now) + _place(snapshot)


@answers(JobMade, reads=("job",))
def place_known_card(_policy: Policy, snapshot: Snapshot, _event: JobMade, _now: datetime) -> Decision:
    """Place a card that was seen before it was known who asked."""
    return _place(snapshot)


def add_requested_budget(snapshot: Snapshot, event: RunQueued) -> Decision:
    """Add the budget that was asked for to that of the card's first run."""
    job = snapshot.job
    if job is None or not job.budget_usd or event.attempt != 1:
        return Decision()
    more = BudgetRaised(event.run_id, job.budget_usd, job.by)
    return Decision((more,), (f"{job.by} gave {event.run_id} {usd(job.budget_usd)} more by a program",))


def _place(snapshot: Snapshot) -> Decision:
    job = snapshot.job
    if job is None:
        return Decision()
    acts: list[SkillsPinned | AgentPinned | WorkflowPinned | PriorityChosen | LimitsChosen | MoveCard] = []
    if job.agent:
        acts.append(AgentPinned(snapshot.card_id, job.agent, job.by))
    if job.priority:
        acts.append(PriorityChosen(snapshot.card_id, job.priority, job.by))
    if job.minutes or job.turns or job.effort:
        acts.append(LimitsChosen(snapshot.card_id, job.minutes, job.turns, 0.0, job.by, job.effort))
    if job.skills:
        acts.append(SkillsPinned(snapshot.card_id, job.skills, job.by))
    if job.workflow:
        acts.append(WorkflowPinned(snapshot.card_id, job.workflow, job.by))
    if job.column and not same_column(job.column, snapshot.column):
        acts.append(MoveCard(snapshot.card_id, job.column, f"job:{job.key}", snapshot.column or "", job.by))
    return Decision(tuple(acts), (f"{job.by} asked for this card through a program",))
