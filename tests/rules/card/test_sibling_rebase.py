"""When another pull request is merged: which branches are rebased, how often, and what comes of it."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from ledger.events.run import RunEnded
from ledger.ids import RunId
from ledger.states import CardState, Ending
from rules.handlers.merge_queue import after_merge
from rules.intents.internal import QueueRun
from rules.intents.outbound import MergePull, Say
from rules.policy.model import Policy
from rules.snapshot import Snapshot
from tests.rules.scene import NOW, POLICY, a_check, asks, card, ended, kinds, only, pull, run

R9 = RunId("r9")


def delivered(**changes: Any) -> Snapshot:
    return card("Review", CardState.IN_REVIEW, **{"run": ended(), "pull": pull(), **changes})


CHECK = a_check(run_id=R9, at=NOW - timedelta(minutes=5), claimed_at=NOW - timedelta(minutes=4))


def over(reason: str = "", ending: Ending = Ending.SUCCEEDED) -> RunEnded:
    return RunEnded(
        R9, ending, reason, "cardinal/12 cannot be rebased on main: both change a.py", "preparing"
    )


def never() -> Policy:
    return POLICY.model_copy(update={"board": POLICY.board.model_copy(update={"rebase": "never"})})


def test_a_finished_branch_is_rebased_by_a_run_that_costs_nothing() -> None:
    (queued,) = after_merge(POLICY, delivered(), NOW).intents
    assert isinstance(queued, QueueRun)
    assert (queued.kind, queued.by, queued.rebases, queued.plan_required) == ("check", "merge", True, False)


@pytest.mark.parametrize(
    ("seen", "by"),
    [
        (delivered(), never()),
        (delivered(pull=None), POLICY),
        (delivered(pull=pull("merged")), POLICY),
        (delivered(pull=pull(awaits="queue")), POLICY),
        (delivered(pull=pull(unfinished=True)), POLICY),
        (delivered(run=run()), POLICY),
        (delivered(run=ended(Ending.FAILED)), POLICY),
        (delivered(archived=True), POLICY),
        (delivered(checks=(a_check(alive=True),)), POLICY),
    ],
    ids=["never", "no pull", "merged", "GitHub's queue", "early", "at work", "failed", "archived", "checked"],
)
def test_nothing_else_is(seen: Snapshot, by: Policy) -> None:
    assert after_merge(by, seen, NOW).intents == ()


def test_many_merges_in_an_hour_end_at_the_limit() -> None:
    decision = after_merge(POLICY, delivered(checks=(CHECK,) * 6), NOW)
    assert "QueueRun" not in kinds(decision.intents)
    assert "/cardinal check starts another" in str(decision.because[0])


def test_a_merge_during_the_rebase_is_taken_in_as_well() -> None:
    snapshot = delivered(checks=(CHECK,), base_moved_at=CHECK.claimed_at, beside=a_check())
    assert only(asks(snapshot, over()), QueueRun).rebases
    assert "QueueRun" not in kinds(asks(snapshot, over("cancelled", Ending.CANCELLED)))
    assert "QueueRun" not in kinds(asks(replace(snapshot, base_moved_at=CHECK.queued_at), over()))


def test_a_conflict_is_said_and_nothing_is_merged_for_it() -> None:
    snapshot = card(
        "Done", CardState.BLOCKED, run=ended(), pull=pull(), verdict="approved", approved_head="abc123"
    )
    snapshot = replace(snapshot, checks=(CHECK,), beside=a_check())
    assert only(asks(snapshot, over()), MergePull)
    intents = asks(snapshot, over("conflict", Ending.FAILED))
    assert "MergePull" not in kinds(intents)
    assert only(intents, Say).text == "cardinal/12 cannot be rebased on main: both change a.py."
