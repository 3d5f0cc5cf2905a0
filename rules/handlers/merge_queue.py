"""Pull requests around a merge: those that GitHub merges by itself while they wait, and those behind one,
which are rebased and checked without an agent."""

from datetime import datetime
from typing import Any

from ledger.event import Event
from ledger.events.pull import GroupFormed, GroupGone, MergeAwaited, MergeOutdated
from ledger.events.run import CHECK, RunEnded
from ledger.states import CardState, Ending, Gate, Reason
from rules.answers import answers
from rules.card.column_actions import act
from rules.card.move_rights import is_abandoned, is_dragged
from rules.card.trigger import RuleTrigger, time_stamp
from rules.intents.internal import QueueRun, show_card, show_sentence
from rules.intents.outbound import CancelMerge, CheckGroup, Decision, Say
from rules.policy.model import Policy
from rules.runs import check_only
from rules.runs.gate import count_recent_checks, merge_of
from rules.snapshot import CardPull, Snapshot
from rules.text import ordinal, plain, sentence

BY_MERGE = "merge"  # as whom a rebase is started that nobody asked for
CONFLICT = "conflict"  # the reason of a run that could not rebase
WAITS = {
    "queue": "pull request #{number} is in GitHub's merge queue, and is merged when its turn comes",
    "auto": "pull request #{number} is waiting for its checks, and GitHub merges it as soon as they pass",
}


def wait_for_turn(snapshot: Snapshot) -> Decision:
    """Let the card wait behind the others, and say at which place."""
    ahead = snapshot.lane_ahead
    because = f"approved, {ordinal(len(ahead) + 1)} in the merge lane behind #{ahead[-1]}"
    return show_card(CardState.BLOCKED, because, Reason.MERGE_LANE)


def lead(snapshot: Snapshot, pull: CardPull) -> Decision:
    because = f"1st in the merge lane: merging pull request #{pull.number}"
    return show_card(CardState.BLOCKED, because, Reason.MERGE_TURN)


def advance_lane(policy: Policy, snapshot: Snapshot, now: datetime) -> Decision:
    """Give a waiting card its new place, or its turn once nobody is before it."""
    column = snapshot.column_policy
    waits = snapshot.reason is Reason.MERGE_LANE and snapshot.open_pull is not None
    if column is None or not waits or not is_dragged(policy, snapshot):
        return Decision()
    trigger = RuleTrigger(f"lane:{snapshot.open_pull.head if snapshot.open_pull else ''}", "lane", now)
    return act(policy, snapshot, column.entry_actions, trigger)


def after_merge(policy: Policy, snapshot: Snapshot, now: datetime) -> Decision:
    """Queue the rebase of a branch whose work is finished, within the hourly limit.

    Left alone: a card whose run is alive or is only checked just now (that one looks again at its end), and a
    pull request that GitHub merges by itself, through its queue or once its checks pass. A card in the merge
    lane is rebased when it is its turn.
    """
    if policy.board.rebase != "on_merge" or snapshot.reason in (Reason.MERGE_LANE, Reason.MERGE_TURN):
        return Decision()
    return begin_rebase(policy, snapshot, now)


def begin_rebase(policy: Policy, snapshot: Snapshot, now: datetime) -> Decision:
    """Queue the rebase of a finished branch, within the hourly limit."""
    pull, run = snapshot.open_pull, snapshot.run
    if pull is None or pull.awaits or snapshot.is_outside_owner:
        return Decision()
    if run is None or not run.has_finished_work or pull.unfinished or check_only.check_obstacle(snapshot):
        return Decision()
    lately = count_recent_checks(snapshot.checks, now)
    if lately >= policy.limits.automatic_runs_per_hour:
        return show_sentence(f"{lately} checks began within an hour: /cardinal check starts another")
    queued = QueueRun(snapshot.card_id, CHECK, BY_MERGE, plan_required=False, rebases=True)
    return Decision((queued,), (f"another pull request was merged: #{pull.number} is rebased and checked",))


def follow_check(policy: Policy, snapshot: Snapshot, event: Event, now: datetime) -> Decision:
    """Follow a run that only checks; at its end the branch is rebased if another was merged meanwhile."""
    if isinstance(event, RunEnded) and snapshot.open_pull and not snapshot.archived:
        if event.reason == CONFLICT:
            return _say_stuck(snapshot, event)
        again = _is_outdated(snapshot, event) and event.ending is not Ending.CANCELLED
        decision = after_merge(policy, snapshot, now) if again else Decision()
        if any(isinstance(intent, QueueRun) for intent in decision.intents):
            return decision
    return check_only.follow_check(policy, snapshot, event, now)


def _is_outdated(snapshot: Snapshot, event: RunEnded) -> bool:
    """Tell whether the newest check ended, and another card was merged since it was claimed."""
    check, moved_at = next(iter(snapshot.checks), None), snapshot.base_moved_at
    if check is None or check.run_id != event.run_id or check.claimed_at is None or moved_at is None:
        return False
    return moved_at >= check.claimed_at


def _say_stuck(snapshot: Snapshot, event: RunEnded) -> Decision:
    """Say why the branch could not be rebased, and the next step."""
    because = plain(event.detail, 500)
    say = Say(snapshot.card_id, f"rebase:{event.run_id}", sentence(because), "pull")
    return show_sentence(because) + Decision((say,))


@answers(MergeAwaited)
def explain_merge_wait(policy: Policy, snapshot: Snapshot, event: MergeAwaited, now: datetime) -> Decision:
    """Say why the merge waits, or ask for help when GitHub does not merge it any more."""
    pull, card = snapshot.open_pull, snapshot.card_id
    if pull is None or pull.number != event.number or pull.awaits != event.how:
        return Decision((), ("the merge has come or gone since",))
    if event.how:
        because = WAITS.get(event.how, WAITS["auto"]).format(number=pull.number)
        if event.because:
            awaits = plain(event.because, 160)
            because = f"pull request #{pull.number} is waiting for {awaits}, and GitHub merges it then"
        return show_sentence(because, Reason.MERGE_QUEUE) + cancel_merge_if_unwanted(policy, snapshot)
    here = _merge_step(snapshot) is not None
    if not here and is_dragged(policy, snapshot):
        return Decision((), ("the card has left the column in which it is merged",))
    why = plain(event.because.replace("_", " "), 160) or "it was taken back"
    again = "drag the card here again, or /cardinal retry" if here else "drag the card back"
    because = (
        f"pull request #{pull.number} is no longer being merged by GitHub ({why}): look at it, then {again}"
    )
    # Nobody looks at a card in its last column again: the comment calls for somebody.
    notice = Say(card, f"unmerged:{time_stamp(now)}", sentence(because), "pull")
    return show_card(CardState.BLOCKED, because) + Decision((notice,))


@answers(GroupFormed)
def report_group(policy: Policy, snapshot: Snapshot, event: GroupFormed, now: datetime) -> Decision:
    """Report the gate's result on the queue's commit, or it waits for ever; and on the card that it waits.

    Somebody may have put it into the queue by hand.
    """
    pull, card = snapshot.open_pull, snapshot.card_id
    if pull is None or pull.number != event.number:
        return Decision((), ("the pull request has been closed since",))
    decision = Decision((CheckGroup(card, event.number, event.head),), ("the merge queue wants the check",))
    if snapshot.live_run:
        return decision
    because = WAITS["queue"].format(number=event.number)
    return decision + show_sentence(because, Reason.MERGE_QUEUE)


@answers(GroupGone)
def withdraw_wait(policy: Policy, snapshot: Snapshot, event: GroupGone, now: datetime) -> Decision:
    """Take back that the card waits in the queue, unless its merge or its end says more."""
    pull = snapshot.open_pull
    if pull is None or pull.awaits or event.reason != "dequeued" or snapshot.reason is not Reason.MERGE_QUEUE:
        return Decision((), ("the outcome of the merge is told apart",))
    because = f"pull request #{event.number} has left GitHub's merge queue without being merged"
    return show_sentence(because)


@answers(MergeOutdated)
def bring_up_to_date(policy: Policy, snapshot: Snapshot, event: MergeOutdated, now: datetime) -> Decision:
    """Rebase and check a commit that was not checked on the newest base; its merge comes after that."""
    pull = snapshot.open_pull
    if pull is None or pull.head != event.head or snapshot.reason is not Reason.MERGE_TURN:
        return Decision((), ("the card has left the merge lane since",))
    first = "1st in the merge lane: it is rebased on the newest base and checked there, then merged"
    if snapshot.live_check:
        return show_sentence(first, Reason.MERGE_TURN)
    begun = begin_rebase(policy, snapshot, now)
    if any(isinstance(intent, QueueRun) for intent in begun.intents):
        return begun + show_sentence(first, Reason.MERGE_TURN)
    # The next one gets its turn; nobody looks at a card in its last column again.
    why = "; ".join(map(str, begun.because)) or "it cannot be rebased now"
    because = f"pull request #{pull.number} left the merge lane: {why}, then say /cardinal retry"
    say = Say(snapshot.card_id, f"lane:{event.head}:{event.base}", sentence(because), "pull")
    return show_sentence(because) + Decision((say,))


def cancel_merge_if_unwanted(policy: Policy, snapshot: Snapshot, *, moved: bool = False) -> Decision:
    """Take back a merge that waits and that nobody wants any more as it is. `moved`: the event is about the
    card's place, so that `guard` judges who moved it.
    """
    pull = snapshot.open_pull
    if pull is None or not pull.awaits:
        return Decision()
    step = _merge_step(snapshot)
    requires = step.get("requires", "approved") if step is not None else merge_of(policy)
    if is_abandoned(policy, snapshot):
        because = "the card was given up"
    elif step is None and (moved or is_dragged(policy, snapshot)):
        because = "the card was dragged away"
    elif pull.head != pull.awaited_head:
        because = "its branch has changed since it was approved"
    elif snapshot.verdict == "changes_requested":
        because = "a review requested changes"
    elif pull.gate is Gate.FAILED:
        because = "the checks failed on its commit"
    elif requires == "approved" and snapshot.verdict != "approved":
        because = "its approval was taken back"
    else:
        return Decision()
    return Decision((CancelMerge(snapshot.card_id, pull.awaited_head, because),), (because,))


def _merge_step(snapshot: Snapshot) -> dict[str, Any] | None:
    """Return the action of the card's column that merges; None where there is none."""
    column = snapshot.column_policy
    steps = column.entry_actions if column else ()
    return next((step for step in steps if step["action"] == "merge"), None)
