"""Merges that GitHub carries out by itself: through its queue, or once the checks pass."""

import pytest

from bot.render.pull import gate_check
from forge.store.board import Item
from forge.store.checks import Checks
from forge.store.models import CheckRun, Pull
from ledger.events.board import CardExplained
from ledger.events.pull import GroupGone, MergeAwaited, MergeOutdated
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.pulls.test_check_buttons import gated
from tests.bot.flows.pulls.test_review import delivered, review
from tests.bot.flows.settings import POLICY
from tests.bot.render.test_merge_message import trailers

CHECK = "ci"


def approved(cardinal: Cardinal) -> tuple[Item, Pull]:
    item = delivered(cardinal)
    pull = cardinal.pull_of(item)
    review(cardinal, pull, "APPROVE")
    cardinal.catch_up()
    return item, pull


def ready(cardinal: Cardinal) -> tuple[Item, Pull]:
    """Return the card of the scene `approved`, and its pull request."""
    item = cardinal.newest
    return item, cardinal.pull_of(item)


def checks(cardinal: Cardinal) -> Checks:
    cardinal.repo.required_checks["main"] = (CHECK,)
    cardinal.repo.auto_merge_allowed = True
    return cardinal.forge.store.checks


def running(cardinal: Cardinal, pull: Pull) -> CheckRun:
    asked = {"status": "in_progress"}
    store = cardinal.forge.store
    store.apps.register(cardinal.person("alice"), "CI", "ci")
    return checks(cardinal).create(
        cardinal.repo, CHECK, pull.head_sha, asked, app_slug="ci", actor=cardinal.person("ci[bot]")
    )


def waits_for_checks(cardinal: Cardinal) -> tuple[Item, Pull, CheckRun]:
    item, pull = ready(cardinal)
    check = running(cardinal, pull)
    cardinal.drag(item, "Done")
    cardinal.catch_up()
    assert pull.auto_merge is not None
    assert pull.auto_merge.enabled_by is cardinal.bot
    assert "is waiting for its checks" in cardinal.card(item).because
    assert "is waiting for its checks" in cardinal.face(item)["Progress"]
    return item, pull, check


def waits_in_queue(cardinal: Cardinal) -> tuple[Item, Pull]:
    item, pull = ready(cardinal)
    cardinal.repo.merge_queues.add("main")
    cardinal.drag(item, "Done")
    cardinal.catch_up()
    assert pull.queued_at is not None
    assert "merge queue" in cardinal.card(item).because
    return item, pull


@pytest.mark.after(scene=approved)
def test_running_checks_are_waited_for_and_github_merges_then(cardinal: Cardinal) -> None:
    item, pull, check = waits_for_checks(cardinal)
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up()
    assert len(cardinal.calls("EnableAutoMerge")) == 1
    done = {"status": "completed", "conclusion": "success"}
    cardinal.forge.store.checks.update(check, done, actor=cardinal.person("ci[bot]"))
    cardinal.catch_up()
    assert pull.merged_at is not None
    repos, card = cardinal.forge.store.repos, cardinal.card(item)
    message = repos.git(cardinal.repo).commit(repos.commit_of(cardinal.repo, "main")).message
    assert trailers(message) == [
        f"Cardinal-Run: {card.run_id}",
        f"Cardinal-Card: acme/shop#{card.number}",
        "Cardinal-Requested-By: carol",
        "Cardinal-Approved-By: bob",
    ]
    assert card.state == "done"
    cardinal.assert_nothing_is_stuck()


@pytest.mark.after(scene=approved)
def test_a_check_that_failed_blocks_the_card_and_nothing_waits(cardinal: Cardinal) -> None:
    item, pull = ready(cardinal)
    failed = {"status": "completed", "conclusion": "failure"}
    cardinal.forge.store.checks.update(running(cardinal, pull), failed, actor=cardinal.person("ci[bot]"))
    cardinal.drag(item, "Done")
    cardinal.catch_up()
    assert pull.auto_merge is None
    assert cardinal.card(item).state == "blocked"
    assert "is failing" in cardinal.card(item).because


@pytest.mark.after(scene=approved)
@pytest.mark.parametrize("why", ["dragged away", "has changed", "requested changes"])
def test_a_merge_that_nobody_wants_any_more_is_taken_back(cardinal: Cardinal, why: str) -> None:
    item, pull, check = waits_for_checks(cardinal)
    if why == "dragged away":
        cardinal.drag(item, "Review")
    elif why == "has changed":
        files: dict[str, bytes | None] = {"late.txt": b"late\n"}
        cardinal.forge.store.repos.write_files(
            cardinal.repo, pull.head_ref, files, "Late", actor=cardinal.person("alice")
        )
    else:
        review(cardinal, pull, "REQUEST_CHANGES", who="alice")
    cardinal.catch_up()
    done = {"status": "completed", "conclusion": "success"}
    cardinal.forge.store.checks.update(check, done, actor=cardinal.person("ci[bot]"))
    cardinal.catch_up()
    assert (pull.auto_merge, pull.merged_at) == (None, None)
    assert cardinal.events(MergeAwaited)[-1].how == ""
    assert why in cardinal.events(MergeAwaited)[-1].because


@pytest.mark.after(scene=approved)
def test_a_queue_is_joined_once_and_its_merge_is_followed(cardinal: Cardinal) -> None:
    item, pull = waits_in_queue(cardinal)
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up()
    assert len(cardinal.calls("EnqueuePull")) == 1
    cardinal.forge.store.merges.finish_queue(pull, passed=True, actor=cardinal.person("alice"))
    cardinal.catch_up()
    assert pull.merged_at is not None
    assert cardinal.card(item).state == "done"
    cardinal.assert_nothing_is_stuck()


@pytest.mark.after(scene=approved)
def test_one_in_the_queue_is_taken_back_when_its_card_is_dragged_away(cardinal: Cardinal) -> None:
    item, pull = waits_in_queue(cardinal)
    cardinal.drag(item, "Review")
    cardinal.catch_up()
    assert len(cardinal.calls("DequeuePull")) == 1
    assert (pull.queued_at, pull.merged_at) == (None, None)
    assert "dragged away" in cardinal.events(MergeAwaited)[-1].because


@pytest.mark.after(scene=approved)
def test_one_that_leaves_the_queue_unmerged_calls_for_somebody(cardinal: Cardinal) -> None:
    item, pull = waits_in_queue(cardinal)
    cardinal.forge.store.merges.finish_queue(pull, passed=False, actor=cardinal.person("alice"))
    cardinal.catch_up()
    assert pull.merged_at is None
    assert cardinal.card(item).state == "blocked"
    assert "ci failure" in cardinal.card(item).because
    assert any("ci failure" in comment.body for comment in pull.issue.comments)
    cardinal.drag(item, "Review")
    cardinal.catch_up()
    cardinal.drag(item, "Done")
    cardinal.catch_up()
    assert pull.queued_at is not None


def test_the_queue_gets_cardinals_own_check_on_its_commit_and_merges(cardinal: Cardinal) -> None:
    item = gated(cardinal, column="Review")
    pull = cardinal.pull_of(item)
    review(cardinal, pull, "APPROVE")
    cardinal.repo.required_checks["main"] = (gate_check.NAME,)
    cardinal.repo.merge_queues.add("main")
    cardinal.catch_up()
    cardinal.drag(item, "Done")
    cardinal.catch_up()
    runs = [run for run in cardinal.forge.store.checks.all(cardinal.repo) if run.head_sha != pull.head_sha]
    assert [(run.name, run.conclusion, run.actions) for run in runs] == [(gate_check.NAME, "success", [])]
    assert f"merges #{pull.issue.number}" in runs[0].output["summary"]
    assert any("merge queue" in event.because for event in cardinal.events(CardExplained))
    assert pull.merged_at is not None
    assert cardinal.card(item).state == "done"
    assert [event.reason for event in cardinal.events(GroupGone)] == ["merged"]
    cardinal.assert_nothing_is_stuck()


def test_what_the_gate_has_not_seen_does_not_pass_the_queue(cardinal: Cardinal) -> None:
    item = gated(cardinal, column="Review")
    pull, alice = cardinal.pull_of(item), cardinal.person("alice")
    files: dict[str, bytes | None] = {"late.txt": b"late\n"}
    cardinal.forge.store.repos.write_files(cardinal.repo, pull.head_ref, files, "Late", actor=alice)
    cardinal.repo.merge_queues.add("main")
    cardinal.catch_up()
    cardinal.forge.store.merges.enqueue(pull, actor=alice)
    cardinal.catch_up(publish=False)
    assert "merge queue" in cardinal.card(item).because
    cardinal.repo.required_checks["main"] = (gate_check.NAME,)
    cardinal.catch_up()
    assert (pull.merged_at, pull.queued_at) == (None, None)
    assert "left GitHub's merge queue" in cardinal.card(item).because
    cardinal.assert_nothing_is_stuck()


def test_the_merge_lane_hands_one_after_another_over_to_the_queue(cardinal: Cardinal) -> None:
    cardinal.set_policy(POLICY.replace("method: squash", "method: squash, lane: true"))
    items, pulls = zip(*(approved(cardinal) for _ in range(2)), strict=True)
    cardinal.repo.merge_queues.add("main")
    for item in items:
        cardinal.drag(item, "Done")
    cardinal.catch_up()
    assert [event.number for event in cardinal.events(MergeAwaited)] == [pull.number for pull in pulls]
    assert cardinal.events(MergeOutdated) == []  # GitHub's queue checks each on what is before it
    assert all("merge queue" in cardinal.card(item).because for item in items)
    assert len(cardinal.calls("EnqueuePull")) == 2
    for item, pull in zip(items, pulls, strict=True):
        cardinal.forge.store.merges.finish_queue(pull, passed=True, actor=cardinal.person("alice"))
        cardinal.catch_up()
        assert cardinal.card(item).state == "done"
    cardinal.assert_nothing_is_stuck()


def test_a_queue_that_changes_gets_its_check_on_the_new_commit(cardinal: Cardinal) -> None:
    items = [gated(cardinal, column="Review") for _ in range(2)]
    pulls, alice = [cardinal.pull_of(item) for item in items], cardinal.person("alice")
    cardinal.repo.merge_queues.add("main")
    for pull in pulls:
        cardinal.forge.store.merges.enqueue(pull, actor=alice)
    cardinal.catch_up()
    cardinal.forge.store.merges.finish_queue(pulls[0], passed=True, actor=alice)
    cardinal.catch_up()
    group = cardinal.forge.store.groups.of_pull(pulls[1])
    assert group is not None
    assert [run.name for run in cardinal.forge.store.checks.on_commit(cardinal.repo, group.head_sha)] == [
        gate_check.NAME
    ]
    assert "merge queue" in cardinal.card(items[1]).because
    assert sorted(event.reason for event in cardinal.events(GroupGone)) == ["invalidated", "merged"]
