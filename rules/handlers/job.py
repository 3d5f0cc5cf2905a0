"""A card that a program asked for is there: it gets its skills, and goes to its column for the account."""

from datetime import datetime

from ledger.events.board import CardSeen
from ledger.events.instruction import SkillsPinned
from ledger.events.job import JobMade
from rules.handlers import card_moved
from rules.intents.outbound import Decision, MoveCard
from rules.policy.model import Policy
from rules.snapshot import Snapshot


def seen(policy: Policy, snapshot: Snapshot, event: CardSeen, now: datetime) -> Decision:
    """Serve a card that is seen for the first time, and place it where it is known already who asked."""
    return card_moved.seen(policy, snapshot, event, now) + _place(snapshot)


def made(_policy: Policy, snapshot: Snapshot, _event: JobMade, _now: datetime) -> Decision:
    """Place a card that was seen before it was known who asked."""
    return _place(snapshot)


def _place(snapshot: Snapshot) -> Decision:
    job = snapshot.job
    if job is None:
        return Decision()
    acts: list[SkillsPinned | MoveCard] = []
    if job.skills:
        acts.append(SkillsPinned(snapshot.card_id, job.skills, job.by))
    if job.column and job.column.casefold() != (snapshot.column or "").casefold():
        acts.append(MoveCard(snapshot.card_id, job.column, f"job:{job.key}", snapshot.column or "", job.by))
    return Decision(tuple(acts), (f"{job.by} asked for this card by a program",))
