"""Runs that only check: their automatic start, and the effect of their end on the card."""

from datetime import datetime

from ledger.event import Event
from ledger.events.run import BY_PUSH, CHECK, RunEnded
from ledger.states import Ending, Gate
from rules.card.column_actions import act, has_action
from rules.card.move_rights import is_dragged
from rules.card.trigger import RuleTrigger
from rules.intents.internal import QueueRun, show_card, show_sentence
from rules.intents.outbound import Decision, Say, UpdatePull
from rules.policy.model import Policy
from rules.runs.gate import count_recent_checks, leaves_draft, why_not
from rules.snapshot import Snapshot
from rules.text import plain, sentence


def check_obstacle(snapshot: Snapshot) -> str:
    """Return why nothing can be checked just now; empty when it can."""
    if snapshot.archived or snapshot.open_pull is None:
        return "there is no open pull request of this card"
    if snapshot.live_run:
        return f"{snapshot.live_run.run_id} is working, and its pushes go through the gate"
    if snapshot.live_check:
        return f"{snapshot.live_check.run_id} is already checking it"
    return "" if snapshot.run is not None else "no run has worked on this card yet"


def begin_check(snapshot: Snapshot, by: str) -> Decision:
    """Queue a run that checks the pull request's commit."""
    pull = snapshot.open_pull
    because = f"{plain(by, 40)} lets {plain(pull.head[:7], 7) if pull else 'it'} be checked"
    return Decision((QueueRun(snapshot.card_id, CHECK, by, plan_required=False),), (because,))


def check_push(policy: Policy, snapshot: Snapshot, now: datetime) -> Decision:
    """Check a push to a pull request in review or before its merge, within the hourly limit."""
    pull = snapshot.open_pull
    if pull is None or pull.gate is not Gate.UNSEEN or check_obstacle(snapshot):
        return Decision()
    archetype = snapshot.archetype
    if not (archetype.HAS_REVIEWS or archetype.IS_FINAL):
        return Decision()
    lately = count_recent_checks(snapshot.checks, now)
    if lately >= policy.limits.automatic_runs_per_hour:
        because = f"{lately} checks began within an hour: /cardinal check starts another"
        return show_sentence(because)
    return begin_check(snapshot, BY_PUSH)


def follow_check(policy: Policy, snapshot: Snapshot, event: Event, now: datetime) -> Decision:
    """Follow a run that only checks: it is no attempt at the card, so only its end matters to that."""
    if not isinstance(event, RunEnded):
        return Decision((), ("a run that only checks moves no card",))
    pull = snapshot.open_pull
    if pull is None or snapshot.archived or snapshot.live_run:
        return Decision((), ("the checks are of no use any more",))
    checked = event.ending is Ending.SUCCEEDED or event.reason in ("validation", "superseded")
    if pull.gate is Gate.UNSEEN and checked:
        return check_push(policy, snapshot, now)  # somebody pushed meanwhile
    because = "" if pull.gate.lets_through else why_not(pull)
    if pull.gate is Gate.UNSEEN:
        because = f"{event.run_id} could not check it: {plain(event.detail or event.reason, 160)}"
    return _onward(policy, snapshot, event, because, now)


def _onward(policy: Policy, snapshot: Snapshot, event: RunEnded, because: str, now: datetime) -> Decision:
    """Resume the steps that waited for the result: leaving draft, and the merge."""
    column = snapshot.column_policy
    message = because and f"pull request #{snapshot.pull.number if snapshot.pull else ''}: {because}"
    if because:
        line = plain(message, 300)
        decision = show_sentence(line)
        if not snapshot.archetype.IS_FINAL:
            return decision
        # Nobody looks at a card in its last column again: the comment calls for somebody.
        return decision + Decision(
            (Say(snapshot.card_id, f"checked:{event.run_id}", sentence(line), "pull"),)
        )
    # A card that only somebody without the right put there is not merged by what happens later.
    if column and has_action(column.entry_actions, "merge") and is_dragged(policy, snapshot):
        return act(
            policy, snapshot, column.entry_actions, RuleTrigger(f"check:{event.run_id}", event.run_id, now)
        )
    wanted = bool(snapshot.run and snapshot.run.has_finished_work)
    wanted = wanted or bool(column and has_action(column.entry_actions, "ready"))
    ready = leaves_draft(snapshot, event.run_id) if wanted else Decision()
    # Where there are no drafts, the title says that it is not ready.
    return show_card(because=because) + ready + Decision((UpdatePull(snapshot.card_id),))
