"""After a merge: the delivered branches of the same repository are rebased and checked, without an agent."""

from datetime import datetime

from ledger.events.run import CHECK, RunEnded, RunEvent
from ledger.states import Ending, Reason
from rules.card.state import explain
from rules.intents.internal import QueueRun
from rules.intents.outbound import Decision, Say
from rules.policy.model import Policy
from rules.runs import check_only
from rules.runs.gate import count_recent_checks
from rules.snapshot import Snapshot
from rules.text import plain, sentence

BY_MERGE = "merge"  # as whom a rebase is started that nobody asked for
CONFLICT = "conflict"  # the reason of a run that could not rebase


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
        return explain(snapshot, f"{lately} checks began within an hour: /cardinal check starts another")
    queued = QueueRun(snapshot.card_id, CHECK, BY_MERGE, plan_required=False, rebases=True)
    return Decision((queued,), (f"another pull request was merged: #{pull.number} is rebased and checked",))


def follow_check(policy: Policy, snapshot: Snapshot, event: RunEvent, now: datetime) -> Decision:
    """Follow a run that only checks; at its end the branch is rebased if another was merged meanwhile."""
    if isinstance(event, RunEnded) and snapshot.open_pull and not snapshot.archived:
        if event.reason == CONFLICT:
            return _stuck(snapshot, event)
        again = _is_outdated(snapshot, event) and event.ending is not Ending.CANCELLED
        decided = after_merge(policy, snapshot, now) if again else Decision()
        if any(isinstance(intent, QueueRun) for intent in decided.intents):
            return decided
    return check_only.follow_check(policy, snapshot, event, now)


def _is_outdated(snapshot: Snapshot, event: RunEnded) -> bool:
    """Tell whether the newest check ended, and another card was merged since it was claimed."""
    check, moved_at = next(iter(snapshot.checks), None), snapshot.base_moved_at
    if check is None or check.run_id != event.run_id or check.claimed_at is None or moved_at is None:
        return False
    return moved_at >= check.claimed_at


def _stuck(snapshot: Snapshot, event: RunEnded) -> Decision:
    """Say why the branch could not be rebased, and the next step."""
    because = plain(event.detail, 500)
    said = Say(snapshot.card_id, f"rebase:{event.run_id}", sentence(because), "pull")
    return explain(snapshot, because) + Decision((said,))
