"""Red checks of the pull request start a repair for each commit, within limits; people are told the rest."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from ledger.events.pull import CheckFailure, ChecksSettled
from ledger.events.run import RunEnded
from ledger.states import CardState as S
from ledger.states import Ending, Reason, RunKind, RunState
from rules.intents.internal import ChangeCardState, QueueRun
from rules.intents.outbound import Say
from rules.policy.model import Policy
from rules.snapshot import Snapshot
from tests.rules.scene import CARD, NOW, POLICY, R1, asks, card, ci_row, ended, kinds, only, pull, run

TESTS = CheckFailure("tests", "https://x", "boom", on_base=False)
LINT = CheckFailure("lint", "https://x", "boom", on_base=True)
DONE = card(state=S.WORK_COMPLETE, run=ended(), pull=pull())


def red(*failures: CheckFailure, head: str = "abc123", pending: tuple[str, ...] = ()) -> ChecksSettled:
    return ChecksSettled(CARD, head, failures or (TESTS,), pending)


def limits(**changes: Any) -> Policy:
    changed = POLICY.limits.model_copy(update=changes)
    return POLICY.model_copy(update={"board": POLICY.board.model_copy(update={"limits": changed})})


def test_a_red_check_starts_a_repair_without_a_plan() -> None:
    assert only(asks(DONE, red()), QueueRun) == QueueRun(
        CARD, RunKind.REPAIR, "CI", plan_required=False, door="checks"
    )
    assert "Say" not in kinds(asks(DONE, red()))


def test_a_red_check_of_unfinished_work_starts_no_repair() -> None:
    snapshot = replace(DONE, run=ended(Ending.CANCELLED), pull=pull(draft=True, unfinished=True))
    assert asks(snapshot, red()) == ()


def test_what_is_red_on_the_base_as_well_is_reported_and_not_repaired() -> None:
    intents = asks(DONE, red(LINT))
    assert "QueueRun" not in kinds(intents)
    assert "CI (`lint`) is also red on the default branch: not repaired." in only(intents, Say).text
    assert "QueueRun" in kinds(asks(DONE, red(LINT, TESTS)))


@pytest.mark.parametrize(
    ("snapshot", "policy", "said"),
    [
        (replace(DONE, ci=ci_row("old", 2)), POLICY, "still, after 2 repairs in a row"),
        (replace(DONE, ci=ci_row("abc123", 1)), POLICY, "a run has tried on this very commit"),
        (replace(DONE, verdict="changes_requested"), POLICY, "the next revision repairs it"),
        (DONE, limits(repairs=0), "the policy does not let a run repair it"),
        (replace(DONE, begun=(NOW - timedelta(minutes=1),) * 6), POLICY, "6 runs began within an hour"),
        (replace(DONE, column="Review", state=S.IN_REVIEW), POLICY, "no agent works in this column"),
        (replace(DONE, closed="completed"), POLICY, "the issue is closed"),
    ],
)
def test_where_no_repair_starts_it_says_why_once_for_the_commit(
    snapshot: Snapshot, policy: Policy, said: str
) -> None:
    intents = asks(snapshot, red(), by=policy)
    assert "QueueRun" not in kinds(intents)
    say = only(intents, Say)
    assert (say.about, say.place) == ("ci:abc123", "pull")
    assert said in say.text


def test_one_repair_less_than_the_limit_is_still_made() -> None:
    assert "QueueRun" in kinds(asks(replace(DONE, ci=ci_row("old", 1)), red()))


@pytest.mark.parametrize(
    ("snapshot", "event"),
    [
        (DONE, red(head="older")),
        (replace(DONE, pull=pull("merged")), red()),
        (replace(DONE, pull=None), red()),
        (replace(DONE, archived=True), red()),
        (replace(DONE, run=run(RunState.WORKING)), red()),
        (DONE, ChecksSettled(CARD, "abc123", (), ())),
    ],
)
def test_what_is_past_or_green_asks_for_nothing(snapshot: Snapshot, event: ChecksSettled) -> None:
    assert asks(snapshot, event) == ()


def test_a_card_that_was_blocked_for_its_checks_is_free_when_they_are_green() -> None:
    blocked = replace(DONE, state=S.BLOCKED, reason=Reason.CHECKS_RED)
    green = asks(blocked, ChecksSettled(CARD, "abc123", (), ()))
    assert only(green, ChangeCardState).after is S.WORK_COMPLETE
    for_else = replace(blocked, because="CI (`tests`) is red: as an agent says", reason=Reason.OTHER)
    assert asks(for_else, ChecksSettled(CARD, "abc123", (), ())) == ()


DELIVERED = card(run=ended(), pull=pull(), ci=ci_row("", 0), red=(TESTS,))
SUCCEEDED = RunEnded(R1, Ending.SUCCEEDED, "", "", "publishing")


def test_what_went_red_before_its_run_had_ended_is_taken_up_at_the_end() -> None:
    assert only(asks(DELIVERED, SUCCEEDED), QueueRun).kind == "repair"
    assert "MoveCard" not in kinds(asks(DELIVERED, SUCCEEDED))
    tried = replace(DELIVERED, ci=ci_row("abc123", 1))
    assert "a run has tried on this very commit" in only(asks(tried, SUCCEEDED), Say).text
    for other in (replace(DELIVERED, red=()), replace(DELIVERED, pull=pull("merged"))):
        assert "QueueRun" not in kinds(asks(other, SUCCEEDED))
    failed = RunEnded(R1, Ending.FAILED, "validation", "red", "validating")
    assert "QueueRun" not in kinds(asks(replace(DELIVERED, run=ended(Ending.FAILED)), failed))
