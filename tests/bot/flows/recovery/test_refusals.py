"""One bad answer of GitHub and then good ones: nothing that a person waits for is lost or paid twice."""

from typing import Any

import pytest

from forge.store.board import Item
from ledger.events.publication import EntryGivenUp, EntryHeld
from ledger.events.related import CardMade
from ledger.events.run import RunQueued
from ledger.states import CardState
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.pulls.test_merges import approved, running
from tests.bot.flows.runs.test_new_cards import WORKS
from tests.bot.flows.settings import with_column

DAY_S = 24 * 3600
NO_HEAD = {"resource": "PullRequest", "field": "head", "code": "invalid"}
QUICK = {
    "resource": "IssueComment",
    "code": "custom",
    "field": "body",
    "message": "was submitted too quickly",
}
LOCKED = {"message": "Unable to create comment because issue is locked."}
STRANGE = {"message": "The moon is in the wrong house"}


def refuse(
    cardinal: Cardinal, path: str, status: int, answer: Any, *, count: int = 1, body: str = ""
) -> None:
    fault = {"method": "POST", "path": path, "status": status, "answer": answer, "count": count, "body": body}
    cardinal.forge.store.faults.load({"api": [fault]})


def invalid(*reasons: Any) -> dict[str, Any]:
    return {"message": "Validation Failed", "errors": list(reasons)}


def unprocessable(words: str) -> dict[str, Any]:
    return {"data": None, "errors": [{"type": "UNPROCESSABLE", "message": words}]}


CONFLICT = unprocessable("Your attempt to move this item created a temporary conflict. Please try again.")


def worked(cardinal: Cardinal) -> Item:
    """Let a run do its work, whose branch is pushed."""
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    run_id = cardinal.run_of(item).run_id
    cardinal.begin(run_id)
    cardinal.catch_up()
    cardinal.finish(run_id, files={"a.txt": b"1"})
    cardinal.catch_up()
    return item


def pass_by(cardinal: Cardinal, seconds: float, *, each_s: float = 60) -> None:
    for _ in range(int(seconds // each_s)):
        cardinal.clock.forward(each_s)
        cardinal.catch_up()


@pytest.mark.parametrize("reason", [NO_HEAD, "Head sha can't be blank", "Head ref must be a branch"])
def test_a_branch_that_is_no_head_yet_becomes_a_pull_request(cardinal: Cardinal, reason: Any) -> None:
    refuse(cardinal, "/pulls$", 422, invalid(reason, "No commits between main and x"))
    item = worked(cardinal)
    pass_by(cardinal, 120, each_s=5)
    assert cardinal.pull_of(item).issue.state == "open"
    assert cardinal.card(item).state is CardState.WORK_COMPLETE
    assert cardinal.events(EntryGivenUp) == []
    assert len(cardinal.events(RunQueued)) == 1


def test_a_pull_request_that_is_held_is_told_and_a_retry_pays_no_second_run(cardinal: Cardinal) -> None:
    refuse(cardinal, "/pulls$", 422, invalid(NO_HEAD), count=14)
    item = worked(cardinal)
    pass_by(cardinal, 480, each_s=30)
    (event,) = cardinal.events(EntryHeld)
    assert event.act == "open_pull"
    assert "So far the pull request could not be opened" in cardinal.card(item).because
    assert cardinal.comment(item, "So far the pull request could not be opened", "PullRequest head invalid")
    cardinal.say(item, "/cardinal retry")  # what is held holds up no reply
    cardinal.catch_up()
    assert cardinal.comment(item, "no run was started")
    pass_by(cardinal, 1800)
    assert cardinal.pull_of(item).issue.state == "open"
    assert len(cardinal.events(RunQueued)) == 1
    assert [bool(entry_held.because) for entry_held in cardinal.events(EntryHeld)] == [True, False]
    assert "So far" not in cardinal.card(item).because


def test_after_a_day_it_is_given_up_and_a_retry_opens_the_pull_request(cardinal: Cardinal) -> None:
    refuse(cardinal, "/pulls$", 422, invalid(NO_HEAD), count=10_000)
    item = worked(cardinal)
    pass_by(cardinal, DAY_S + 600, each_s=300)
    (given_up,) = cardinal.events(EntryGivenUp)
    assert given_up.act == "open_pull"
    assert cardinal.card(item).state is CardState.BLOCKED
    cardinal.forge.store.faults.clear()
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up()
    assert cardinal.pull_of(item).issue.state == "open"
    assert len(cardinal.events(RunQueued)) == 1
    assert cardinal.card(item).state is CardState.WORK_COMPLETE


def test_a_conflict_on_the_board_delays_an_agents_card_and_makes_no_second_issue(
    cardinal: Cardinal,
) -> None:
    cardinal.set_policy(with_column(pipelines="{depth: 1, start: true, skills: [fuzzing]}"))
    cardinal.scenario(work=WORKS)
    refuse(cardinal, "/graphql$", 200, CONFLICT, body="AddCard")
    refuse(cardinal, "/graphql$", 200, CONFLICT, body="MoveCard")
    item = cardinal.new(column="In Progress")
    for _ in range(4):
        cardinal.catch_up(work=True)
        cardinal.clock.forward(5)
    assert len(cardinal.events(CardMade)) == 1
    assert cardinal.calls("POST /repos/acme/shop/issues").count("POST /repos/acme/shop/issues") == 1
    assert cardinal.events(EntryGivenUp) == []
    assert cardinal.run_of(item).ending == "succeeded"


def test_a_conflict_on_the_board_delays_a_move_and_the_face(cardinal: Cardinal) -> None:
    refuse(cardinal, "/graphql$", 200, CONFLICT, body="MoveCard", count=3)
    refuse(cardinal, "/graphql$", 200, CONFLICT, body="SetFields")
    item = cardinal.new(column="Planning")
    cardinal.catch_up()
    cardinal.say(item, "/cardinal move In Progress")
    cardinal.catch_up()
    assert cardinal.column(item) == "In Progress"
    assert cardinal.face(item)["Agent"].endswith("queued")
    assert cardinal.events(EntryGivenUp) == []


def test_a_check_waits_until_github_knows_the_commit(cardinal: Cardinal) -> None:
    refuse(cardinal, "/check-runs$", 422, {"message": "No commit found for SHA: 1234"}, count=2)
    item = worked(cardinal)
    pass_by(cardinal, 30, each_s=5)
    head = cardinal.pull_of(item).head_sha
    assert [run.name for run in cardinal.forge.store.checks.on_commit(cardinal.repo, head)] == [
        "cardinal/gate"
    ]


def test_a_merge_waits_while_checks_pass_or_another_pull_request_is_merged(cardinal: Cardinal) -> None:
    item, pull = approved(cardinal)
    running(cardinal, pull)
    unstable = unprocessable("Pull request Pull request is in unstable status")
    refuse(cardinal, "/graphql$", 200, unstable, body="EnableAutoMerge", count=2)
    cardinal.drag(item, "Done")
    cardinal.catch_up()
    pass_by(cardinal, 30, each_s=5)
    assert pull.auto_merge is not None
    assert cardinal.events(EntryGivenUp) == []


@pytest.mark.parametrize("what", ["plan", "question"])
def test_what_was_submitted_too_quickly_is_posted_once(cardinal: Cardinal, what: str) -> None:
    if what == "plan":
        cardinal.set_policy(with_column(plan_approval='"required"'))
        cardinal.catch_up()
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    run_id = cardinal.run_of(item).run_id
    if what == "question":
        cardinal.begin(run_id)
        cardinal.catch_up()
    refuse(cardinal, "/comments$", 422, invalid(QUICK), count=2)
    if what == "plan":
        cardinal.plan(run_id)
    else:
        cardinal.ask(run_id, "Round up?", "Yes", "No")
    cardinal.catch_up()
    pass_by(cardinal, 60, each_s=5)
    part = "<!-- cardinal:plan:" if what == "plan" else "<!-- cardinal:question:"
    assert sum(part in text for text in cardinal.told(item)) == 1
    assert cardinal.events(EntryGivenUp) == []


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_question_that_is_given_up_leaves_a_sentence_on_the_card(cardinal: Cardinal) -> None:
    item = cardinal.newest
    refuse(cardinal, "/comments$", 422, invalid("Body is too long (maximum is 65536 characters)"))
    cardinal.ask(cardinal.run_of(item).run_id, "Round up?", "Yes", "No")
    cardinal.catch_up()
    assert cardinal.comment(item, "The question could not be posted", "a plain comment answers it")
    assert "The question could not be posted" in cardinal.card(item).because


@pytest.mark.after(scene=Cardinal.at_work)
def test_words_that_nobody_knows_are_believed_after_two_minutes(cardinal: Cardinal) -> None:
    item = cardinal.newest
    refuse(cardinal, "/comments$", 422, STRANGE, count=4)
    cardinal.say(item, "/cardinal status")
    cardinal.catch_up()
    pass_by(cardinal, 120, each_s=5)
    (given_up,) = cardinal.events(EntryGivenUp)
    assert given_up.act == "say"
    assert "The moon is in the wrong house" in cardinal.card(item).because


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_locked_conversation_is_no_missing_permission(cardinal: Cardinal) -> None:
    item = cardinal.newest
    fault = {"method": "POST", "path": "/comments$", "status": 403, "answer": LOCKED, "count": 99}
    cardinal.forge.store.faults.load({"api": [fault]})
    cardinal.say(item, "/cardinal status")
    cardinal.catch_up()
    given_up = cardinal.events(EntryGivenUp)[-1]
    assert "unlock the conversation" in given_up.because
    assert "permission" not in given_up.because
    assert "unlock the conversation" in cardinal.card(item).because


@pytest.mark.after(scene=Cardinal.at_work)
def test_behind_an_ip_allow_list_everything_waits_for_its_owner(cardinal: Cardinal) -> None:
    item = cardinal.newest
    words = (
        "Although you appear to have the correct authorization credentials, the `acme` organization has an"
    )
    answer = {"message": f"{words} IP allow list enabled, and 192.0.2.1 is not permitted."}
    fault = {"method": "POST", "path": "/comments$", "status": 403, "answer": answer, "count": 10_000}
    cardinal.forge.store.faults.load({"api": [fault]})
    cardinal.say(item, "/cardinal status")
    cardinal.catch_up()
    pass_by(cardinal, 2 * DAY_S, each_s=3600)
    assert cardinal.events(EntryGivenUp) == []
    assert "IP allow list" in cardinal.card(item).because
    cardinal.forge.store.faults.clear()
    pass_by(cardinal, 1900, each_s=60)
    assert cardinal.comment(item, "r1 is working.")
    assert "IP allow list" not in cardinal.card(item).because


def test_an_agents_new_card_that_is_given_up_is_told_with_its_retry(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column(pipelines="{depth: 1, start: true, skills: [fuzzing]}"))
    cardinal.scenario(work=WORKS)
    answer = {"message": "Issues has been disabled in this repository."}
    refuse(cardinal, "/issues$", 410, answer, count=99)
    item = cardinal.new(column="In Progress")
    for _ in range(3):
        cardinal.catch_up(work=True)
        cardinal.clock.forward(5)
    key = cardinal.events(EntryGivenUp)[0].key
    retry = f"cardinal replay --acts {key}"
    assert cardinal.comment(item, "asked for could not be made", "turns Issues on", retry)


@pytest.mark.parametrize(
    ("path", "answer"),
    [("/pulls$", invalid(NO_HEAD)), ("/check-runs$", {"message": "No commit found for SHA: 1"})],
)
def test_what_was_made_in_spite_of_a_refusal_is_found_and_not_made_again(
    cardinal: Cardinal, path: str, answer: Any
) -> None:
    fault = {"method": "POST", "path": path, "status": 422, "answer": answer, "after": True, "count": 1}
    cardinal.forge.store.faults.load({"api": [fault]})
    item = worked(cardinal)
    pass_by(cardinal, 30, each_s=5)
    pull = cardinal.pull_of(item)
    assert len(cardinal.calls("POST /repos/acme/shop/pulls")) == 1
    assert len(cardinal.forge.store.checks.on_commit(cardinal.repo, pull.head_sha)) == 1
    assert cardinal.events(EntryGivenUp) == []


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_reply_that_may_have_landed_before_a_refusal_is_not_doubled(cardinal: Cardinal) -> None:
    item = cardinal.newest
    fault = {"method": "POST", "path": "/comments$", "status": 422, "answer": invalid(QUICK), "after": True}
    cardinal.forge.store.faults.load({"api": [fault]})
    before = len(cardinal.told(item))
    cardinal.say(item, "/cardinal status")
    cardinal.catch_up()
    pass_by(cardinal, 30, each_s=5)
    assert len(cardinal.told(item)) == before + 1
    cardinal.assert_no_leftovers()
