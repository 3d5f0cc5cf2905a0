"""The merge lane: approved cards of a repository are merged one after another, each checked on the last."""

from datetime import datetime

from ledger.states import CardState, Reason
from rules.card.column_actions import act
from rules.card.move_rights import is_dragged
from rules.card.state import change_state
from rules.card.trigger import RuleTrigger
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.snapshot import CardPull, Snapshot
from rules.text import ordinal


def wait_for_turn(policy: Policy, snapshot: Snapshot) -> Decision:
    """Let the card wait behind the others, and say at which place."""
    ahead = snapshot.lane_ahead
    because = f"approved, {ordinal(len(ahead) + 1)} in the merge lane behind #{ahead[-1]}"
    return change_state(policy, snapshot, CardState.BLOCKED, because, Reason.MERGE_LANE)


def lead(policy: Policy, snapshot: Snapshot, pull: CardPull) -> Decision:
    because = f"1st in the merge lane: merging pull request #{pull.number}"
    return change_state(policy, snapshot, CardState.BLOCKED, because, Reason.MERGE_TURN)


def advance_lane(policy: Policy, snapshot: Snapshot, now: datetime) -> Decision:
    """Give a waiting card its new place, or its turn once nobody is before it."""
    column = policy.column(snapshot.column)
    waits = snapshot.reason is Reason.MERGE_LANE and snapshot.open_pull is not None
    if column is None or not waits or not is_dragged(policy, snapshot):
        return Decision()
    occasion = RuleTrigger(f"lane:{snapshot.open_pull.head if snapshot.open_pull else ''}", "lane", now)
    return act(policy, snapshot, column.entry_actions, occasion)
