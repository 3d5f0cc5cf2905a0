"""What CI says of Cardinal's pull request comes back as a repair, bounded, and never as somebody else's."""

import re
from typing import Any

import pytest

from bot.github.errors import GithubError
from bot.render.pull import gate_check
from bot.runspec import builder
from bot.sync import checks
from forge.store.board import Item
from forge.store.models import CheckRun
from ledger.events.pull import ChecksAwaited, ChecksSettled
from ledger.events.run import RunQueued
from ledger.states import CardState
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.settings import POLICY

RED: dict[str, Any] = {"status": "completed", "conclusion": "failure"}
GREEN: dict[str, Any] = {"status": "completed", "conclusion": "success"}


@pytest.fixture(autouse=True)
def actions(cardinal: Cardinal) -> None:
    """Let there be GitHub Actions."""
    apps, acme = cardinal.forge.store.apps, cardinal.person("acme")
    apps.register(acme, "GitHub Actions", "github-actions", events=["ping"])


def delivered(cardinal: Cardinal, title: str = "Totals") -> Item:
    """Return a card with a pull request of a run that has ended."""
    item = cardinal.new(title, column="In Progress")
    cardinal.catch_up()
    push(cardinal, item, "One = 1\n")
    return item


def push(cardinal: Cardinal, item: Item, text: str) -> None:
    """Let the card's run deliver."""
    run_id = cardinal.run_of(item).run_id
    cardinal.begin(run_id)
    cardinal.finish(run_id, files={"shop/total.py": text.encode()})
    cardinal.catch_up()


def check(cardinal: Cardinal, sha: str, name: str, log: str = "", **changes: Any) -> CheckRun:
    store, bot = cardinal.forge.store, cardinal.person("github-actions[bot]")
    check_run = store.checks.create(
        cardinal.repo, name, sha, {"status": "in_progress"}, app_slug="github-actions", actor=bot
    )
    check_run.log = log
    if changes:
        store.checks.update(check_run, changes, actor=bot)
    return check_run


def kinds_of_runs(cardinal: Cardinal) -> list[str]:
    return [event.kind for event in cardinal.events(RunQueued)]


@pytest.mark.after(scene=delivered)
def test_a_red_check_comes_back_with_the_end_of_its_log(cardinal: Cardinal) -> None:
    item = cardinal.newest
    log = "start\n" * 9_000 + "AssertionError: 3 != 4\n"
    check(cardinal, cardinal.pull_of(item).head_sha, "tests", log, **RED)
    cardinal.catch_up()
    assert kinds_of_runs(cardinal) == ["first", "repair"]
    run = cardinal.run_of(item)
    assert cardinal.card(item).state is CardState.QUEUED
    assert cardinal.claim(run.run_id)
    order = builder.build_spec(cardinal.services, run.run_id, cardinal.leases[run.run_id])[0]
    assert (order.kind, order.plan_required) == ("repair", False)
    assert re.search(r"<(untrusted-\w+)>\ntests\n[^<]*</\1>", order.failing)
    assert "AssertionError: 3 != 4" in order.failing
    assert len(order.failing) < 5_000


@pytest.mark.after(scene=delivered)
def test_without_a_log_the_checks_own_words_are_told(cardinal: Cardinal) -> None:
    item = cardinal.newest
    output = {"title": "3 tests failed", "summary": "test_total", "text": None}
    check(cardinal, cardinal.pull_of(item).head_sha, "tests", output=output, **RED)
    cardinal.catch_up()
    (failure,) = cardinal.events(ChecksSettled)[0].failures
    assert failure.log == "3 tests failed\n\ntest_total"


def test_it_waits_until_all_that_are_required_have_finished(cardinal: Cardinal) -> None:
    cardinal.repo.required_checks["main"] = ("tests", "types")
    item = delivered(cardinal)
    sha = cardinal.pull_of(item).head_sha
    check(cardinal, sha, "tests", "boom", **RED)
    check(cardinal, sha, "optional", "boom", **RED)
    cardinal.catch_up()
    assert kinds_of_runs(cardinal) == ["first"]
    assert [event.pending for event in cardinal.events(ChecksAwaited)] == [("types",)]
    check(cardinal, sha, "types", **GREEN)
    cardinal.catch_up()
    assert kinds_of_runs(cardinal) == ["first", "repair"]
    (settled,) = cardinal.events(ChecksSettled)
    assert [failure.name for failure in settled.failures] == ["tests"]


def test_a_check_that_never_finishes_is_waited_for_only_so_long(cardinal: Cardinal) -> None:
    cardinal.set_policy(POLICY.replace("limits: {", "limits: {ci_wait_minutes: 10, "))
    item = delivered(cardinal)
    sha = cardinal.pull_of(item).head_sha
    check(cardinal, sha, "slow")
    check(cardinal, sha, "tests", "boom", **RED)
    cardinal.catch_up()
    assert kinds_of_runs(cardinal) == ["first"]
    assert checks.overdue(cardinal.services, cardinal.clock()) == ()
    cardinal.clock.forward(601)
    (late,) = checks.overdue(cardinal.services, cardinal.clock())
    checks.read_again(cardinal.services, late)
    assert kinds_of_runs(cardinal) == ["first", "repair"]
    assert cardinal.events(ChecksSettled)[-1].pending == ("slow",)
    assert checks.overdue(cardinal.services, cardinal.clock()) == ()


@pytest.mark.after(scene=delivered)
def test_checks_whose_deliveries_were_lost_are_found(cardinal: Cardinal) -> None:
    item = cardinal.newest
    check(cardinal, cardinal.pull_of(item).head_sha, "tests", "boom", **RED)
    cardinal.mail.clear()
    cardinal.catch_up()
    assert kinds_of_runs(cardinal) == ["first"]
    cardinal.clock.forward(121)
    (missed,) = checks.overdue(cardinal.services, cardinal.clock())
    checks.read_again(cardinal.services, missed)
    assert kinds_of_runs(cardinal) == ["first", "repair"]


def test_a_repository_without_checks_is_looked_at_once(cardinal: Cardinal) -> None:
    delivered(cardinal)
    cardinal.clock.forward(121)
    (first,) = checks.overdue(cardinal.services, cardinal.clock())
    checks.read_again(cardinal.services, first)
    assert checks.overdue(cardinal.services, cardinal.clock()) == ()
    assert kinds_of_runs(cardinal) == ["first"]


def test_a_repository_that_cannot_be_read_is_asked_for_its_checks_less_and_less_often(
    cardinal: Cardinal,
) -> None:
    delivered(cardinal)
    cardinal.clock.forward(121)
    (card_id,) = checks.overdue(cardinal.services, cardinal.clock())
    cardinal.forge.store.faults.load({"api": [{"path": "/repos/", "status": 404, "count": 99}]})
    with pytest.raises(GithubError):
        checks.read_again(cardinal.services, card_id)
    cardinal.forge.gateway.calls.clear()
    for _ in range(3):
        cardinal.clock.forward(15)
        checks.read_again(cardinal.services, card_id)
    assert cardinal.calls("") == []
    cardinal.clock.forward(20)
    with pytest.raises(GithubError):
        checks.read_again(cardinal.services, card_id)


@pytest.mark.after(scene=delivered)
def test_what_the_base_breaks_is_reported_and_not_repaired(cardinal: Cardinal) -> None:
    item = cardinal.newest
    check(cardinal, cardinal.forge.store.repos.commit_of(cardinal.repo, "main"), "tests", "boom", **RED)
    check(cardinal, cardinal.pull_of(item).head_sha, "tests", "boom", **RED)
    cardinal.catch_up()
    assert kinds_of_runs(cardinal) == ["first"]
    said = [comment.body for comment in cardinal.pull_of(item).issue.comments]
    assert any("also red on the default branch" in text for text in said)


@pytest.mark.after(scene=delivered)
def test_repairs_end_after_so_many_and_each_commit_gets_one(cardinal: Cardinal) -> None:
    item = cardinal.newest
    for number in range(4):
        sha = cardinal.pull_of(item).head_sha
        for _ in range(2):
            check(cardinal, sha, "tests", "boom", **RED)
            cardinal.catch_up()
        if kinds_of_runs(cardinal).count("repair") > number:
            push(cardinal, item, f"One = {number + 2}\n")
    assert kinds_of_runs(cardinal) == ["first", "repair", "repair"]
    said = [one.body for one in cardinal.pull_of(item).issue.comments if "after 2 repairs" in one.body]
    assert len(said) == 1
    assert cardinal.card(item).state is CardState.BLOCKED


def test_the_card_is_free_again_when_the_checks_are_green(cardinal: Cardinal) -> None:
    cardinal.set_policy(POLICY.replace("limits: {", "limits: {repairs: 0, "))
    item = delivered(cardinal)
    sha = cardinal.pull_of(item).head_sha
    check(cardinal, sha, "tests", "boom", **RED)
    cardinal.catch_up()
    assert cardinal.card(item).state is CardState.BLOCKED
    check(cardinal, sha, "tests", **GREEN)
    cardinal.catch_up()
    assert cardinal.card(item).state is CardState.WORK_COMPLETE


@pytest.mark.after(scene=delivered)
def test_cardinals_own_check_and_cancelled_ones_repair_nothing(cardinal: Cardinal) -> None:
    item = cardinal.newest
    sha = cardinal.pull_of(item).head_sha
    cardinal.forge.store.checks.create(
        cardinal.repo, "cardinal/gate", sha, dict(RED), app_slug="cardinal", actor=cardinal.bot
    )
    check(cardinal, sha, "tests", status="completed", conclusion="cancelled")
    cardinal.catch_up()
    assert kinds_of_runs(cardinal) == ["first"]


def test_checks_of_somebody_elses_commit_cost_no_call(cardinal: Cardinal) -> None:
    delivered(cardinal)
    main = cardinal.forge.store.repos.commit_of(cardinal.repo, "main")
    cardinal.forge.gateway.calls.clear()
    check(cardinal, main, "tests", "boom", **RED)
    cardinal.catch_up()
    assert cardinal.calls("") == []


def test_cardinals_own_required_check_is_not_waited_for(cardinal: Cardinal) -> None:
    cardinal.repo.required_checks["main"] = ("tests", gate_check.NAME)
    item = delivered(cardinal)
    check(cardinal, cardinal.pull_of(item).head_sha, "tests", "boom", **RED)
    cardinal.catch_up()
    assert kinds_of_runs(cardinal) == ["first", "repair"]


def say(cardinal: Cardinal, sha: str, context: str, state: str) -> None:
    """Let somebody's CI say something of a commit in the older way."""
    bot, text = cardinal.person("github-actions[bot]"), f"{context} is {state}"
    cardinal.forge.store.statuses.create(cardinal.repo, sha, context, state, actor=bot, description=text)


@pytest.mark.after(scene=delivered)
def test_of_two_checks_with_one_name_the_worse_one_counts(cardinal: Cardinal) -> None:
    item = cardinal.newest
    sha = cardinal.pull_of(item).head_sha
    check(cardinal, sha, "tests", **GREEN)
    say(cardinal, sha, "tests", "pending")
    cardinal.catch_up()
    assert kinds_of_runs(cardinal) == ["first"]
    assert [event.pending for event in cardinal.events(ChecksAwaited)] == [("tests",)]
    say(cardinal, sha, "tests", "failure")
    cardinal.catch_up()
    assert kinds_of_runs(cardinal) == ["first", "repair"]


@pytest.mark.after(scene=delivered)
def test_a_commit_status_is_a_check_like_others(cardinal: Cardinal) -> None:
    item = cardinal.newest
    sha = cardinal.pull_of(item).head_sha
    say(cardinal, sha, "ci/old", "pending")
    cardinal.catch_up()
    assert cardinal.events(ChecksSettled) == []
    say(cardinal, sha, "ci/old", "failure")
    assert [delivery.event for delivery in cardinal.mail] == ["status"]
    cardinal.catch_up()
    assert kinds_of_runs(cardinal) == ["first", "repair"]
    (failure,) = cardinal.events(ChecksSettled)[-1].failures
    assert (failure.name, failure.log) == ("ci/old", "ci/old is failure")


def test_checks_that_a_ruleset_requires_are_waited_for(cardinal: Cardinal) -> None:
    cardinal.repo.required_checks["main"] = ("tests",)
    cardinal.repo.ruleset_checks["main"] = ("types", "ci/old")
    item = delivered(cardinal)
    sha = cardinal.pull_of(item).head_sha
    check(cardinal, sha, "tests", "boom", **RED)
    cardinal.catch_up()
    assert [event.pending for event in cardinal.events(ChecksAwaited)] == [("ci/old", "types")]
    check(cardinal, sha, "types", **GREEN)
    say(cardinal, sha, "ci/old", "success")
    cardinal.catch_up()
    assert kinds_of_runs(cardinal) == ["first", "repair"]


@pytest.mark.after(scene=delivered)
def test_the_end_of_a_suite_is_heard_where_that_of_its_last_check_was_lost(cardinal: Cardinal) -> None:
    item = cardinal.newest
    sha = cardinal.pull_of(item).head_sha
    check(cardinal, sha, "types", **GREEN)
    check(cardinal, sha, "tests", "boom", **RED)
    ends = [delivery for delivery in cardinal.mail if delivery.event == "check_suite"]
    assert len(ends) == 2  # the suite ended, and again as another check of it had begun
    cardinal.mail.clear()
    cardinal.mail.append(ends[-1])
    cardinal.catch_up()
    assert kinds_of_runs(cardinal) == ["first", "repair"]


def test_a_merge_waits_for_what_a_ruleset_requires(cardinal: Cardinal) -> None:
    cardinal.repo.ruleset_checks["main"] = ("ci/old",)
    pull = cardinal.pull_of(delivered(cardinal))
    pulls = cardinal.forge.store.pulls
    assert "is expected" in pulls._missing_checks(pull)
    for state, word in (("pending", "in progress"), ("failure", "failing"), ("success", "")):
        say(cardinal, pull.head_sha, "ci/old", state)
        assert word in pulls._missing_checks(pull)
    assert pulls._missing_checks(pull) == ""
