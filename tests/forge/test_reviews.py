"""Reviews, threads and their resolution."""

from collections.abc import Callable
from typing import Any

import pytest
from github import GithubException
from github.PullRequest import PullRequest

from tests.forge.conftest import Receiver, Town

Branch = Callable[..., str]
THREADS = """query($n: Int!) { repository(owner: "acme", name: "shop") { pullRequest(number: $n) {
  reviewDecision
  reviewThreads(first: 50) { nodes { id isResolved isOutdated line path
    comments(first: 20) { nodes { fullDatabaseId body author { login } } } } } } } }"""
TEXT = "one\ntwo\nthree\n"


@pytest.fixture
def pull(town: Town, branch: Branch) -> PullRequest:
    branch("cardinal/1-x", {"NEWS.md": TEXT})
    return town.app().get_repo("acme/shop").create_pull("main", "cardinal/1-x", title="Add news", body="")


def by(town: Town, login: str, pull: PullRequest) -> PullRequest:
    return town.person(login).get_repo("acme/shop").get_pull(pull.number)


def remarks(*lines: int) -> list[Any]:
    return [
        {"path": "NEWS.md", "line": line, "side": "RIGHT", "body": f"about line {line}"} for line in lines
    ]


def test_a_review_with_two_threads_is_one_batch(hooked: Town, receiver: Receiver, pull: PullRequest) -> None:
    review = by(hooked, "bob", pull).create_review(
        event="REQUEST_CHANGES", body="Two things", comments=remarks(1, 3)
    )
    assert review.state == "CHANGES_REQUESTED"
    submitted = receiver.wait("pull_request_review", "submitted")
    assert [one["review"]["state"] for one in submitted] == ["changes_requested"]
    created = receiver.wait("pull_request_review_comment", "created", count=2)
    assert {one["comment"]["pull_request_review_id"] for one in created} == {review.id}
    assert [one["comment"]["diff_hunk"] for one in created] == [
        "@@ -0,0 +1,3 @@\n+one",
        "@@ -0,0 +1,3 @@\n+one\n+two\n+three",
    ]


def test_threads_are_answered_and_resolved(hooked: Town, receiver: Receiver, pull: PullRequest) -> None:
    by(hooked, "bob", pull).create_review(event="REQUEST_CHANGES", body="x", comments=remarks(1, 2))
    app = hooked.app()
    first, second = hooked.graphql(app, THREADS, n=pull.number)["repository"]["pullRequest"]["reviewThreads"][
        "nodes"
    ]
    reply = """mutation($t: ID!) { addPullRequestReviewThreadReply(input: {pullRequestReviewThreadId: $t,
      body: "Done in abc"}) { comment { fullDatabaseId } } }"""
    hooked.graphql(app, reply, t=first["id"])
    about = int(second["comments"]["nodes"][0]["fullDatabaseId"])
    assert about > 2**31
    with pytest.raises(GithubException) as refused:
        pull.create_review_comment_reply(about, "This endpoint is not for Apps")
    assert refused.value.status == 403
    app.requester.requestJsonAndCheck(
        "POST",
        f"/repos/acme/shop/pulls/{pull.number}/comments",
        input={"body": "Done too", "in_reply_to": about},
    )
    resolve = "mutation($t: ID!) { resolveReviewThread(input: {threadId: $t}) { thread { isResolved } } }"
    hooked.graphql(app, resolve, t=first["id"])
    seen = hooked.graphql(app, THREADS, n=pull.number)["repository"]["pullRequest"]
    assert seen["reviewDecision"] == "CHANGES_REQUESTED"
    threads = seen["reviewThreads"]["nodes"]
    assert [thread["isResolved"] for thread in threads] == [True, False]
    assert [thread["comments"]["nodes"][-1]["body"] for thread in threads] == ["Done in abc", "Done too"]
    assert threads[0]["comments"]["nodes"][-1]["author"]["login"] == "cardinal[bot]"
    payload = receiver.wait("pull_request_review_thread", "resolved")[0]
    assert len(payload["thread"]["comments"]) == 2
    replies = [
        one["comment"].get("in_reply_to_id") for one in receiver.wait("pull_request_review_comment", count=4)
    ]
    assert replies[2:] == [
        int(first["comments"]["nodes"][0]["fullDatabaseId"]),
        about,
    ]


def test_a_thread_is_outdated_when_its_lines_change(town: Town, pull: PullRequest, branch: Branch) -> None:
    by(town, "bob", pull).create_review(event="COMMENT", body="x", comments=remarks(2))
    branch("cardinal/1-x", {"NEWS.md": "one\nTWO\nthree\n"})
    thread = town.graphql(town.app(), THREADS, n=pull.number)["repository"]["pullRequest"]["reviewThreads"][
        "nodes"
    ][0]
    assert (thread["isOutdated"], thread["line"]) == (True, None)
    assert next(iter(pull.get_review_comments())).original_line == 2


def test_a_comment_must_be_on_a_line_of_the_diff(town: Town, pull: PullRequest) -> None:
    elsewhere: list[Any] = [{"path": "shop/cart.py", "line": 1, "side": "RIGHT", "body": "x"}]
    for comments in (remarks(99), elsewhere):
        with pytest.raises(GithubException) as refused:
            by(town, "bob", pull).create_review(event="COMMENT", body="x", comments=comments)
        assert refused.value.status == 422
    assert pull.get_reviews().totalCount == 0


def test_a_comment_may_be_placed_by_its_position_in_the_diff(
    town: Town, pull: PullRequest, branch: Branch
) -> None:
    numbers = [f"{number}\n" for number in range(1, 31)]
    branch("main", {"MANY.md": "".join(numbers)})
    changed = ["first\n", *numbers[1:14], *numbers[15:29], "last\n"]
    branch("cardinal/2-x", {"MANY.md": "".join(changed)})
    repo = town.app().get_repo("acme/shop")
    many = repo.create_pull("main", "cardinal/2-x", title="Change many", body="")
    patch = next(file.patch for file in many.get_files()).split("\n")
    heads = [position for position, text in enumerate(patch) if text.startswith("@@")]
    wanted = {"-1": (1, "LEFT"), "+first": (1, "RIGHT"), "-15": (15, "LEFT"), "+last": (29, "RIGHT")}
    assert len(heads) == 3
    said: list[Any] = [{"path": "MANY.md", "position": patch.index(text), "body": text} for text in wanted]
    review = by(town, "bob", many).create_review(event="COMMENT", body="See below", comments=said)
    path = f"/repos/acme/shop/pulls/{many.number}/reviews/{review.id}/comments"
    _, listed = town.app().requester.requestJsonAndCheck("GET", path)
    assert [one["body"] for one in listed] == list(wanted)
    assert not [one for one in listed if one.keys() & {"line", "original_line", "side"}]
    found = {review_comment.body: review_comment.raw_data for review_comment in many.get_review_comments()}
    assert {text: (one["original_line"], one["side"]) for text, one in found.items()} == wanted
    assert found["-15"]["diff_hunk"].endswith("\n-15")
    for nowhere in (0, heads[1], len(patch)):
        with pytest.raises(GithubException) as refused:
            by(town, "bob", many).create_review(
                event="COMMENT", body="x", comments=[{"path": "MANY.md", "position": nowhere, "body": "x"}]
            )
        assert refused.value.status == 422


def test_nobody_approves_their_own_work(pull: PullRequest) -> None:
    with pytest.raises(GithubException) as refused:
        pull.create_review(event="APPROVE")
    assert refused.value.status == 422
    assert refused.value.data["errors"] == ["Can not approve your own pull request"]


def test_a_dismissed_review_no_longer_counts(hooked: Town, receiver: Receiver, pull: PullRequest) -> None:
    review = by(hooked, "bob", pull).create_review(event="APPROVE")
    by(hooked, "alice", pull).get_review(review.id).dismiss("stale")
    assert receiver.wait("pull_request_review", "dismissed")[0]["review"]["state"] == "dismissed"
    decision = hooked.graphql(hooked.app(), THREADS, n=pull.number)["repository"]["pullRequest"][
        "reviewDecision"
    ]
    assert decision is None


def test_a_comment_can_be_hidden(town: Town) -> None:
    comment = town.app().get_repo("acme/shop").get_issue(1).create_comment("old news")
    document = """mutation($c: ID!) { minimizeComment(input: {subjectId: $c, classifier: OUTDATED}) {
      minimizedComment { isMinimized minimizedReason } } }"""
    hidden = town.graphql(town.app(), document, c=comment.node_id)["minimizeComment"]["minimizedComment"]
    assert hidden == {"isMinimized": True, "minimizedReason": "outdated"}


def test_check_runs_have_githubs_limits(hooked: Town, receiver: Receiver, pull: PullRequest) -> None:
    shop = hooked.app().get_repo("acme/shop")
    actions = [{"label": "Retry", "description": "Run again", "identifier": "retry"}]
    run = shop.create_check_run(
        "cardinal/gate",
        pull.head.sha,
        status="completed",
        conclusion="failure",
        output={"title": "Gate", "summary": "one failed"},
        actions=actions,
    )
    assert [one.name for one in shop.get_commit(pull.head.sha).get_check_runs()] == ["cardinal/gate"]
    assert (
        receiver.wait("check_run", "completed")[0]["check_run"]["pull_requests"][0]["number"] == pull.number
    )
    run.edit(status="in_progress")
    assert run.conclusion is None
    too_much = [
        {"actions": actions * 4},
        {"actions": [{**actions[0], "label": "x" * 21}]},
        {"output": {"title": "x", "summary": "x" * 65_536}},
    ]
    for wrong in too_much:
        with pytest.raises(GithubException) as refused:
            run.edit(**wrong)
        assert refused.value.status == 422
    with pytest.raises(GithubException) as refused:
        hooked.person("bob").get_repo("acme/shop").create_check_run("mine", pull.head.sha)
    assert refused.value.status == 403


def test_of_check_runs_that_ran_again_the_newest_is_listed_unless_all_are_asked_for(
    hooked: Town, pull: PullRequest
) -> None:
    shop = hooked.app().get_repo("acme/shop")
    for conclusion in ("failure", "success"):
        shop.create_check_run("tests", pull.head.sha, status="completed", conclusion=conclusion)
    commit = shop.get_commit(pull.head.sha)
    assert [run.conclusion for run in commit.get_check_runs()] == ["success"]
    assert [run.conclusion for run in commit.get_check_runs(filter="all")] == ["success", "failure"]
