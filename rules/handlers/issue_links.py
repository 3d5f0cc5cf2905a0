"""Changed links of a card's issue, and its cards on other boards: what its queued run waits for."""

from datetime import datetime

from ledger.events.related import LinksSeen
from ledger.model.run_modes import FIX
from ledger.states import Reason, RunState
from rules.answers import answers
from rules.card.dependencies import ask_about_blockers, asks_about_part, why_waiting
from rules.card.left_column import end_waiting
from rules.intents.internal import show_card
from rules.intents.outbound import Decision, UpdateFace
from rules.policy.model import Policy
from rules.snapshot import Snapshot


def follow_other(snapshot: Snapshot) -> Decision:
    """Update a card after a run of the same issue on another board began or ended.

    Its own run ends where it waited for just that work; else it starts by itself.
    """
    run, other_run = snapshot.live_run, snapshot.done_elsewhere
    if snapshot.archived or snapshot.only_shown or not snapshot.archetype.STARTS_RUNS:
        return Decision()
    if run is None:
        return show_card() if other_run else Decision()
    same = other_run is not None and (run.mode, run.asked) == (FIX, other_run.asked)
    if other_run is None or not same or run.begun or snapshot.feedback_waits:
        waits = run.state is RunState.QUEUED and snapshot.because
        return show_card() if waits else Decision()
    because = f"{other_run.run_id} on board {other_run.board} has done this work"
    return Decision((end_waiting(run, "superseded", because),), (because,))


@answers(LinksSeen)
def update_wait(policy: Policy, snapshot: Snapshot, event: LinksSeen, now: datetime) -> Decision:
    """Update the reason of a queued run after a change of its issue's links."""
    return update_waiting(policy, snapshot)


def update_whole(policy: Policy, snapshot: Snapshot) -> Decision:
    """Show on the card's face how many of its parts are done, and update the blockers of its queued run."""
    if snapshot.archived or snapshot.only_shown:
        return Decision()
    return Decision((UpdateFace(snapshot.card_id),)) + update_waiting(policy, snapshot)


def update_waiting(policy: Policy, snapshot: Snapshot) -> Decision:
    """Update the reason of a queued run; the dispatch starts it when nothing blocks it."""
    run = snapshot.live_run
    if run is None or run.state is not RunState.QUEUED:
        return Decision()
    waits = why_waiting(policy, snapshot) is not None or asks_about_part(snapshot.question)
    if not waits and snapshot.reason is not Reason.DEPENDENCY:
        return Decision()
    return show_card() + ask_about_blockers(policy, snapshot, run.run_id)
