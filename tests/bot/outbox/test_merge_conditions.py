"""What Cardinal was not shown to be good is neither merged nor taken out of draft."""

import pytest

from ledger.events.pull import PullChanged
from ledger.events.run import ValidationEnded
from ledger.states import PullState
from rules.intents.outbound import MarkReady
from tests.bot.outbox.conftest import Stage
from tests.bot.outbox.test_pull_requests import because, merge
from tests.bot.render.past import RUN


def pushed_over(stage: Stage) -> str:
    """Let a person push to the branch, and Cardinal hear of it; return the commit."""
    pull = stage.pull(draft=False)
    stage.push("by a person\n")
    number, head = pull.issue.number, pull.head_sha
    stage.happen(PullChanged(stage.card_id, number, PullState.OPEN, pull.draft, head))
    return head


def test_what_somebody_pushed_after_the_decision_is_not_merged_without_the_gate(stage: Stage) -> None:
    head = pushed_over(stage)
    assert merge(stage, head).given_up == 1
    assert "/cardinal check" in because(stage)
    assert "PUT" not in " ".join(stage.calls())


def test_what_the_gate_let_through_later_is_merged(stage: Stage) -> None:
    head = pushed_over(stage)
    stage.happen(ValidationEnded(RUN, 2, "full", True, head, "b" * 40, "local", clean=True))
    assert merge(stage, head).given_up == 0
    assert stage.forge.store.pulls.all(stage.shop)[0].merged_at is not None


def test_the_newest_word_of_the_gate_about_a_commit_counts(stage: Stage) -> None:
    head = pushed_over(stage)
    stage.happen(
        ValidationEnded(RUN, 2, "full", True, head, "b" * 40, "local", clean=True),
        ValidationEnded(RUN, 3, "full", False, head, "b" * 40, "local", clean=True),
    )
    assert merge(stage, head).given_up == 1


def test_the_fast_tier_in_the_agents_place_lets_nothing_through(stage: Stage) -> None:
    head = pushed_over(stage)
    stage.happen(ValidationEnded(RUN, 2, "fast", True, head, "b" * 40, "local", clean=False))
    assert merge(stage, head).given_up == 1


def test_a_draft_that_somebody_pushed_to_meanwhile_stays_one(stage: Stage) -> None:
    pull = stage.pull()
    stage.push("by a person\n")
    stage.happen(PullChanged(stage.card_id, pull.issue.number, PullState.OPEN, True, pull.head_sha))
    assert stage.do(MarkReady(stage.card_id, "r1")).given_up == 1
    assert pull.draft


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"status": "in_progress"}, "is pending"),
        ({"status": "completed", "conclusion": "failure"}, "is failing"),
        ({"status": "completed", "conclusion": "cancelled"}, "is failing"),
        (None, "is pending"),
    ],
)
def test_a_required_check_that_is_not_green_holds_the_merge_even_where_github_would_not(
    stage: Stage, state: dict[str, str] | None, said: str
) -> None:
    pull = stage.pull(draft=False)
    if state is not None:
        ci, _ = stage.forge.store.apps.register(stage.alice, "CI", "ci")
        stage.forge.store.checks.create(stage.shop, "ci", pull.head_sha, state, app_slug="ci", actor=ci.bot)
    stage.shop.required_checks["main"] = ("ci", "cardinal/gate")
    merge(stage, pull.head_sha)
    assert pull.merged_at is None
    assert f"`ci` {said}" in because(stage)
    assert stage.calls("PUT") == []
