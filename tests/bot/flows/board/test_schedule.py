"""A schedule of the policy makes one card for each time that comes, whoever is stopped in between."""

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.scheduler import ticker
from forge.store.board import Item
from forge.store.models import Issue
from ledger.events.schedule import ScheduledCardMade, ScheduleDue, ScheduleSet
from rules.policy.model import DEFAULT_TEXT
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.ingest.samples import DELIVERIES

HOUR, DAY = 3600, 86_400
TITLE = "Update the dependencies"


def scheduled(cardinal: Cardinal, more: str = "") -> None:
    rule = f"{{every: 1d, title: {TITLE}, repository: acme/shop, labels: [chore]{more}}}"
    text = f"{DEFAULT_TEXT}  schedule:\n    deps: {rule}\n"
    cardinal.set_policy(text)
    cardinal.catch_up()
    ticker.request_due(cardinal.services)


def tick(cardinal: Cardinal) -> None:
    for _ in range(2):  # as two hosts do
        ticker.request_due(cardinal.services)


def made(cardinal: Cardinal) -> list[Item]:
    items = [item for item in cardinal.project.items if isinstance(item.content, Issue)]
    return [item for item in items if issue_of(item).title == TITLE]


def test_a_card_is_made_at_its_time_in_the_inbox_with_its_label(cardinal: Cardinal) -> None:
    scheduled(cardinal)
    tick(cardinal)
    cardinal.catch_up()
    assert made(cardinal) == []
    cardinal.clock.forward(DAY)
    tick(cardinal)
    cardinal.catch_up()
    (item,) = made(cardinal)
    assert [label.name for label in issue_of(item).labels] == ["chore"]
    assert "_Made by the schedule deps._" in str(issue_of(item).body)
    assert cardinal.column(item) == "Tasks"


def test_times_missed_make_one_card_and_an_open_card_holds_back_the_next(cardinal: Cardinal) -> None:
    scheduled(cardinal)
    for _ in range(2):
        cardinal.clock.forward(5 * DAY)
        tick(cardinal)
        cardinal.catch_up()
    (item,) = made(cardinal)
    assert [bool(due.skipped) for due in cardinal.events(ScheduleDue)] == [False, True]
    cardinal.forge.store.issues.set_state(
        issue_of(item), "closed", "completed", actor=cardinal.person("alice")
    )
    cardinal.catch_up()
    cardinal.clock.forward(DAY)
    tick(cardinal)
    cardinal.catch_up()
    assert len(made(cardinal)) == 2


def test_a_schedule_that_comes_back_is_new_and_makes_up_for_nothing(cardinal: Cardinal) -> None:
    scheduled(cardinal)
    cardinal.set_policy(DEFAULT_TEXT)
    cardinal.catch_up()
    tick(cardinal)
    assert [event.timing for event in cardinal.events(ScheduleSet)] == ["every 1d", ""]
    cardinal.clock.forward(5 * DAY)
    scheduled(cardinal)
    tick(cardinal)
    assert cardinal.events(ScheduleDue) == []
    cardinal.clock.forward(DAY)
    tick(cardinal)
    assert len(cardinal.events(ScheduleDue)) == 1


def test_a_card_in_a_column_of_agents_starts_its_run(cardinal: Cardinal) -> None:
    scheduled(cardinal, ", column: In Progress")
    cardinal.clock.forward(DAY)
    tick(cardinal)
    cardinal.catch_up()
    (item,) = made(cardinal)
    assert cardinal.column(item) == "In Progress"
    assert len(cardinal.ready()) == 1


def test_an_act_that_died_after_github_made_the_issue_makes_no_second(cardinal: Cardinal) -> None:
    scheduled(cardinal)
    cardinal.clock.forward(DAY)
    tick(cardinal)
    fault = {"method": "POST", "path": "/repos/acme/shop/issues", "status": 502, "after": True, "count": 1}
    cardinal.forge.store.faults.load({"api": [fault]})
    cardinal.catch_up()
    assert len(made(cardinal)) == 1
    assert len(cardinal.events(ScheduledCardMade)) == 1


def test_a_workflow_that_fails_on_its_branch_makes_one_card_while_that_is_open(cardinal: Cardinal) -> None:
    rule = f"{{on: {{workflow_failed: {{workflow: nightly.yml}}}}, title: {TITLE}, repository: acme/shop}}"
    cardinal.set_policy(f"{DEFAULT_TEXT}  schedule:\n    red: {rule}\n")
    cardinal.catch_up()
    ticker.request_due(cardinal.services)
    failed = DELIVERIES["workflow_run"]
    other = {**failed, "workflow_run": {**failed["workflow_run"], "head_branch": "other"}}
    later = {**failed, "workflow_run": {**failed["workflow_run"], "updated_at": "2026-11-22T03:10:00Z"}}
    for number, payload in enumerate((other, failed, failed, later)):
        cardinal.post("workflow_run", json.dumps(payload).encode(), f"w{number}", "completed")
        cardinal.catch_up()
    (item,) = made(cardinal)
    assert "It failed: https://github.com/acme/shop/actions/runs/9" in str(issue_of(item).body)
    assert [bool(due.skipped) for due in cardinal.events(ScheduleDue)] == [False, True]


def test_each_labelled_issue_makes_one_card_but_one_that_a_schedule_made(cardinal: Cardinal) -> None:
    rule = f"{{on: {{labeled: {{label: Security}}}}, title: {TITLE}, repository: acme/shop, open_cards: 5}}"
    cardinal.set_policy(f"{DEFAULT_TEXT}  schedule:\n    reports: {rule}\n")
    cardinal.catch_up()
    alice, issues = cardinal.person("alice"), cardinal.forge.store.issues
    repo = cardinal.forge.store.repos.get("acme", "shop")
    one, other, own_issue = (issues.create(repo, f"Report {number}", actor=alice) for number in range(3))
    issues.add_labels(one, ["bug"], actor=alice)
    issues.add_labels(own_issue, ["security"], actor=cardinal.bot)
    cardinal.catch_up()
    assert made(cardinal) == []
    for issue in (one, other):  # in one second
        issues.add_labels(issue, ["security"], actor=alice)
    cardinal.catch_up()
    first, _second = made(cardinal)
    assert f"For acme/shop#{one.number}, which got the label `security`." in str(issue_of(first).body)
    issues.add_labels(issue_of(first), ["security"], actor=alice)
    cardinal.catch_up()
    assert len(made(cardinal)) == 2


@given(waits=st.lists(st.integers(1, 60), min_size=1, max_size=6))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whenever_it_is_stopped_the_times_that_came_make_exactly_one_card(
    cardinal: Cardinal, waits: list[int]
) -> None:
    if not cardinal.events(ScheduleSet):
        scheduled(cardinal, ", open_cards: 20")
    (begin,) = cardinal.events(ScheduleSet)
    for hours in waits:
        days = (cardinal.clock() - begin.next_at).days
        cardinal.clock.forward(hours * HOUR)
        before = len(cardinal.events(ScheduleDue))
        tick(cardinal)
        came = (cardinal.clock() - begin.next_at).days > days
        assert len(cardinal.events(ScheduleDue)) - before == came
