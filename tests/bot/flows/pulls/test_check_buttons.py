"""The buttons of Cardinal's check on a pull request: who presses one is the actor, like one who writes."""

import json

import pytest
import requests

from forge.store.board import Item
from forge.store.models import CheckRun
from ledger.events.conversation import CommandGiven, CommandRefused
from ledger.events.run import BranchPushed, CommandChecked, RunEnded, RunStepped, ValidationEnded
from ledger.states import Ending, RunState
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.settings import POLICY, with_column

FILES = {"new.txt": b"one\ntwo\n"}


def gated(cardinal: Cardinal, *, column: str = "In Progress") -> Item:
    """Return a card whose run went through the gate and ended, dragged to `column`."""
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    run_id = cardinal.run_of(item).run_id
    cardinal.begin(run_id)
    head = cardinal.push(run_id, FILES)
    passed = CommandChecked(run_id, 1, "full", "pytest -q", 0, 2.0, "d" * 64, "3 passed", head, "b" * 40)
    cardinal.write(
        run_id,
        RunStepped(run_id, RunState.WORKING, RunState.VALIDATING),
        passed,
        ValidationEnded(run_id, 1, "full", True, head, "b" * 40),
        RunStepped(run_id, RunState.VALIDATING, RunState.PUBLISHING),
        BranchPushed(run_id, cardinal.run(run_id).branch, head),
        RunEnded(run_id, Ending.SUCCEEDED, "", "", "publishing"),
    )
    cardinal.catch_up()
    if column != "In Progress":
        cardinal.drag(item, column)
        cardinal.catch_up()
    return item


def given_up(cardinal: Cardinal, who: str = "bob") -> Item:
    """Return a card whose pull request is checked, and whose next run somebody cancelled."""
    item = gated(cardinal)
    for command in ("retry", "cancel"):
        cardinal.say(item, f"/cardinal {command}", who=who)
        cardinal.catch_up()
    return item


def check_of(cardinal: Cardinal, item: Item) -> CheckRun:
    """Return Cardinal's one check on the pull request's commit."""
    pull = cardinal.pull_of(item)
    (check_run,) = cardinal.forge.store.checks.on_commit(cardinal.repo, pull.head_sha)
    assert (check_run.name, check_run.app_slug) == ("cardinal/gate", "cardinal")
    return check_run


def buttons(check: CheckRun) -> list[str]:
    return [action["label"] for action in check.actions]


def press(cardinal: Cardinal, check: CheckRun, label: str, who: str = "bob") -> None:
    """Press the button of that label on the forge, and let it have its effect."""
    (identifier,) = (action["identifier"] for action in check.actions if action["label"] == label)
    press_identifier(cardinal, check, identifier, who)
    cardinal.catch_up()


def press_identifier(cardinal: Cardinal, check: CheckRun, identifier: str, who: str) -> None:
    asked = {"repository": "acme/shop", "actor": who, "identifier": identifier}
    url = f"{cardinal.forge.url}/_forge/check-runs/{check.id}/press"
    assert requests.post(url, json=asked, timeout=60).status_code == 200


@pytest.mark.after(scene=gated)
def test_the_check_has_the_evidence_and_the_buttons_that_fit(cardinal: Cardinal) -> None:
    item = cardinal.newest
    check = check_of(cardinal, item)
    assert (check.status, check.conclusion) == ("completed", "success")
    assert "pytest -q" in check.output["summary"]
    assert buttons(check) == ["Explain"]
    written = len(cardinal.calls("/check-runs"))
    cardinal.drag(item, "Review")
    cardinal.catch_up()
    assert len(cardinal.calls("/check-runs")) == written, "it says and offers the same"
    cardinal.assert_nothing_is_stuck()


@pytest.mark.after(scene=given_up)
def test_a_pressed_button_starts_a_run_for_whoever_pressed_it(cardinal: Cardinal) -> None:
    item = cardinal.newest
    press(cardinal, check_of(cardinal, item), "Retry", who="carol")
    assert cardinal.run_of(item).by == "carol"
    assert (cardinal.run_of(item).attempt, cardinal.card(item).state) == (3, "queued")
    check = check_of(cardinal, item)
    assert buttons(check) == ["Pause", "Cancel", "Explain"]
    assert check.conclusion == "success"  # the evidence is about the commit, whatever runs next
    press(cardinal, check, "Cancel")
    assert cardinal.run_of(item).ending is Ending.CANCELLED
    assert cardinal.run_of(item).stop_by == "bob"
    cardinal.assert_nothing_is_stuck()


def test_somebody_without_the_role_is_refused_in_words_and_nothing_starts(cardinal: Cardinal) -> None:
    cardinal.set_policy(POLICY + "  commands: {retry: maintain}\n")
    cardinal.catch_up()
    item = given_up(cardinal, who="alice")
    for _ in range(2):
        press(cardinal, check_of(cardinal, item), "Retry", who="bob")
    assert cardinal.run_of(item).attempt == 2
    refused = [(event.command, event.because) for event in cardinal.events(CommandRefused)]
    because = "`/cardinal retry` needs the role `maintain`; `bob` has the role `write` here."
    assert refused == [(f"button:retry:{cardinal.run_of(item).run_id}", because)] * 2  # no comment to mark
    told = [one.body for one in cardinal.pull_of(item).issue.comments if "needs the role" in one.body]
    assert len(told) == 1
    cardinal.assert_nothing_is_stuck()
    press(cardinal, check_of(cardinal, item), "Retry", who="alice")
    assert cardinal.run_of(item).attempt == 3
    assert cardinal.card(item).state == "queued"


def test_every_press_of_explain_is_answered_on_the_pull_request(cardinal: Cardinal) -> None:
    item = gated(cardinal, column="Review")
    before = len(cardinal.pull_of(item).issue.comments)
    for _ in range(2):
        press(cardinal, check_of(cardinal, item), "Explain")
    told = [comment.body for comment in cardinal.pull_of(item).issue.comments[before:]]
    assert len(told) == 2
    assert all("is waiting for a review" in one for one in told)


@pytest.mark.after(scene=gated)
def test_a_press_that_is_told_twice_counts_once(cardinal: Cardinal) -> None:
    item = cardinal.newest
    check = check_of(cardinal, item)
    press_identifier(cardinal, check, "explain", "bob")
    mails = list(cardinal.mail)
    cardinal.catch_up()
    assert [cardinal.receive(delivery) for delivery in mails] == [False] * len(mails)
    cardinal.catch_up()
    assert len(cardinal.events(CommandGiven)) == 1


@pytest.mark.after(scene=given_up)
def test_a_late_press_is_about_the_run_that_it_was_meant_for(cardinal: Cardinal) -> None:
    item = cardinal.newest
    check = check_of(cardinal, item)
    first = cardinal.run_of(item).run_id
    press_identifier(cardinal, check, f"retry:{first}", "bob")
    press_identifier(cardinal, check, f"retry:{first}", "bob")
    cardinal.catch_up()
    assert cardinal.run_of(item).attempt == 3
    assert any(f"about {first}" in comment.body for comment in cardinal.pull_of(item).issue.comments)


@pytest.mark.after(scene=gated)
def test_a_plan_is_approved_by_its_button_and_an_older_plan_is_not(cardinal: Cardinal) -> None:
    item = cardinal.newest
    cardinal.set_policy(with_column(plan_approval="required"))
    cardinal.catch_up()
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up()
    cardinal.plan(cardinal.run_of(item).run_id)
    cardinal.catch_up()
    run = cardinal.run_of(item)
    check = check_of(cardinal, item)
    assert buttons(check) == ["Approve the plan", "Cancel", "Explain"]
    fresh = check.actions
    check.actions = [{**fresh[0], "identifier": f"approve:{run.run_id}:7"}]
    press(cardinal, check, "Approve the plan")
    assert cardinal.run(run.run_id).state is RunState.AWAITING_APPROVAL
    check.actions = fresh
    press(cardinal, check, "Approve the plan")
    assert cardinal.run(run.run_id).plan_approved
    assert cardinal.run(run.run_id).plan_approved_by == "bob"


@pytest.mark.after(scene=gated)
@pytest.mark.parametrize(
    "change",
    [
        lambda payload: payload["check_run"]["app"].update(id=payload["check_run"]["app"]["id"] + 1),
        lambda payload: payload["check_run"].update(external_id="PVTI_of_nobody"),
        lambda payload: payload["check_run"].update(app=None),
        lambda payload: payload["repository"].update(full_name="acme/board"),
        lambda payload: payload["requested_action"].update(identifier="stop_all"),
    ],
)
def test_a_press_on_anything_but_cardinals_own_check_means_nothing(
    cardinal: Cardinal, change: object
) -> None:
    item = cardinal.newest
    check = check_of(cardinal, item)
    press_identifier(cardinal, check, "explain", "bob")
    delivery = cardinal.mail.pop()
    payload = json.loads(delivery.body)
    change(payload)  # type: ignore[operator]
    cardinal.post("check_run", json.dumps(payload).encode(), "other-guid")
    cardinal.catch_up()
    assert cardinal.run_of(item).attempt == 1
    assert (cardinal.events(CommandGiven), cardinal.events(CommandRefused)) == ([], [])
    cardinal.assert_nothing_is_stuck()


@pytest.mark.after(scene=gated)
def test_a_commit_that_the_gate_has_not_seen_does_not_pass_it(cardinal: Cardinal) -> None:
    item = cardinal.newest
    pull = cardinal.pull_of(item)
    files: dict[str, bytes | None] = {"by-hand.txt": b"mine\n"}
    cardinal.forge.store.repos.write_files(
        cardinal.repo, pull.head_ref, files, "By hand", actor=cardinal.person("alice")
    )
    cardinal.catch_up()
    check = check_of(cardinal, item)
    assert check.conclusion == "action_required"
    assert check.output["title"].startswith("Not checked: Cardinal checked")


def test_only_the_app_that_made_a_check_hears_of_its_buttons(cardinal: Cardinal) -> None:
    store = cardinal.forge.store
    other, _ = store.apps.register(store.users.get("acme"), "Other", "other")
    other.webhook_url, other.webhook_active = "http://127.0.0.1:9/", True
    store.apps.install(other, store.users.get("acme"), actor=cardinal.person("alice"))
    item = gated(cardinal)
    press_identifier(cardinal, check_of(cardinal, item), "explain", "bob")
    heard = [one.app.slug for one in store.deliveries.all() if one.action == "requested_action"]
    assert heard == ["cardinal"]
