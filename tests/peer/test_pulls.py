"""Pull requests through Cardinal's own calls: opened as drafts, found, edited, reviewed, merged."""

from dataclasses import replace
from typing import Any

import pytest

from bot.github.api import pulls, repositories, reviews
from bot.github.api.pulls import PullReading
from bot.github.client import Hub
from bot.github.errors import ConflictError, NotFoundError, RefusedError
from tests.peer.side import ADMIN, BOT, WRITER, Side

BRANCH = "cardinal/1-totals"


def opened(hub: Hub, side: Side, repository: str, branch: str = BRANCH) -> PullReading:
    """Return a draft of Cardinal's for a branch with one commit."""
    side.write(repository, branch)
    return pulls.open_draft(hub, repository, branch=branch, title="Totals", body="They add up.")


def made_ready(hub: Hub, side: Side, repository: str, branch: str = BRANCH) -> int:
    """Return a pull request that may be merged: un-drafting is GraphQL's, which the peer has not."""
    side.write(repository, branch)
    asked = {"title": "Totals", "head": branch, "base": "main", "body": "They add up.", "draft": False}
    return int(hub.rest("POST", f"/repos/{repository}/pulls", body=asked).body["number"])


def review(side: Side, repository: str, number: int, event: str, body: str = "", **more: Any) -> Any:
    asked = {"event": event, "body": body, **more}
    return side.person(ADMIN, "POST", f"/repos/{repository}/pulls/{number}/reviews", asked)


def test_cardinal_opens_a_draft_and_reads_it_again(hub: Hub, side: Side, repository: str) -> None:
    head = side.write(repository, BRANCH)
    pull = pulls.open_draft(hub, repository, branch=BRANCH, title="Totals", body="They add up.")
    assert (pull.draft, pull.state, pull.head, pull.merge_commit) == (True, "open", head, "")
    assert pull.node_id
    again = pulls.read(hub, repository, pull.number)
    assert replace(again, mergeable=None) == replace(pull, mergeable=None), "GitHub works that out later"
    shown = hub.rest("GET", f"/repos/{repository}/pulls/{pull.number}").body
    assert (shown["title"], shown["body"], shown["user"]["login"]) == ("Totals", "They add up.", BOT)
    assert (shown["head"]["ref"], shown["base"]["ref"]) == (BRANCH, "main")
    assert shown["head"]["repo"]["full_name"] == repository


def test_a_pull_request_shares_numbers_and_comments_with_the_issues(
    hub: Hub, side: Side, repository: str
) -> None:
    issue = side.issue(repository)
    pull = opened(hub, side, repository)
    assert pull.number == issue + 1
    path = f"/repos/{repository}/issues/{pull.number}/comments"
    assert hub.rest("POST", path, body={"body": "on a pull request"}).status == 201
    assert [one["body"] for one in hub.pages(path, most=1)] == ["on a pull request"]


def test_cardinal_finds_the_open_pull_request_of_a_branch(hub: Hub, side: Side, repository: str) -> None:
    assert pulls.find_open(hub, repository, BRANCH) is None
    first = opened(hub, side, repository)
    opened(hub, side, repository, "cardinal/2-other")
    pull = pulls.find_open(hub, repository, BRANCH)
    assert pull is not None
    assert pull.number == first.number
    pulls.edit(hub, repository, first.number, state="closed")
    assert pulls.find_open(hub, repository, BRANCH) is None
    assert pulls.read(hub, repository, first.number).state == "closed"


def test_cardinal_edits_title_and_body(hub: Hub, side: Side, repository: str) -> None:
    pull = opened(hub, side, repository)
    pulls.edit(hub, repository, pull.number, title="Sums", body="New words.")
    shown = hub.rest("GET", f"/repos/{repository}/pulls/{pull.number}").body
    assert (shown["title"], shown["body"]) == ("Sums", "New words.")


def test_a_pull_request_that_is_not_there_is_not_found(hub: Hub, repository: str) -> None:
    with pytest.raises(NotFoundError):
        pulls.read(hub, repository, 99)


def test_cardinal_merges_what_it_looked_at(hub: Hub, side: Side, repository: str) -> None:
    number = made_ready(hub, side, repository)
    head = pulls.read(hub, repository, number).head
    words = {"commit_title": f"Totals (#{number})", "commit_message": "Closes #1"}
    commit = pulls.merge(hub, repository, number, method="squash", head=head, words=words)
    pull = pulls.read(hub, repository, number)
    assert (pull.state, pull.merge_commit) == ("merged", commit)
    assert side.head(repository) == commit
    merged = hub.rest("GET", f"/repos/{repository}/commits/{commit}").body
    assert merged["commit"]["message"] == f"Totals (#{number})\n\nCloses #1"
    assert len(merged["parents"]) == 1
    again = pulls.merge(hub, repository, number, method="squash", head=head, words=words)
    assert again == commit, "merged already: done"


def test_cardinal_merges_nothing_that_it_did_not_look_at(hub: Hub, side: Side, repository: str) -> None:
    number = made_ready(hub, side, repository)
    before = side.head(repository)
    with pytest.raises((ConflictError, RefusedError)):  # 409, and on the peer 422: see the divergences
        pulls.merge(hub, repository, number, method="squash", head=before, words={})
    assert pulls.read(hub, repository, number).state == "open"
    assert side.head(repository) == before


def test_a_draft_is_not_merged(hub: Hub, side: Side, repository: str) -> None:
    pull = opened(hub, side, repository)
    with pytest.raises(RefusedError, match=r"(?i)draft"):
        pulls.merge(hub, repository, pull.number, method="squash", head=pull.head, words={})
    assert pulls.read(hub, repository, pull.number).state == "open"


def test_cardinal_deletes_a_branch_once(hub: Hub, side: Side, repository: str) -> None:
    side.write(repository, BRANCH)
    pulls.delete_branch(hub, repository, BRANCH)
    with pytest.raises(NotFoundError):
        hub.rest("GET", f"/repos/{repository}/git/ref/heads/{BRANCH}")
    pulls.delete_branch(hub, repository, BRANCH)


def test_cardinal_knows_the_branch_that_work_starts_from(hub: Hub, repository: str) -> None:
    assert repositories.default_branch(hub, repository) == "main"


def test_a_review_carries_its_verdict_and_the_commit_that_was_looked_at(
    hub: Hub, side: Side, repository: str
) -> None:
    pull = opened(hub, side, repository)
    review(side, repository, pull.number, "REQUEST_CHANGES", "Please add a test.")
    approved = review(side, repository, pull.number, "APPROVE")
    found = hub.rest("GET", f"/repos/{repository}/pulls/{pull.number}/reviews").body
    assert [one["state"] for one in found] == ["CHANGES_REQUESTED", "APPROVED"]
    assert found[0]["body"] == "Please add a test."
    assert {one["commit_id"] for one in found} == {pull.head}
    assert found[1]["user"]["login"] == ADMIN
    path = f"/repos/{repository}/pulls/{pull.number}/reviews/{approved['id']}/dismissals"
    gone = side.person(ADMIN, "PUT", path, {"message": "not any more"})
    assert gone["state"] == "DISMISSED"


def test_nobody_asks_for_changes_without_a_word(side: Side, hub: Hub, repository: str) -> None:
    pull = opened(hub, side, repository)
    path = f"/repos/{repository}/pulls/{pull.number}/reviews"
    reply = side.ask("POST", path, {"event": "BLAME"}, token=side.person_token(ADMIN))
    assert reply.status == 422


def test_cardinal_reads_the_threads_of_one_review(hub: Hub, side: Side, repository: str) -> None:
    pull = opened(hub, side, repository)
    said = [
        {"path": "new.txt", "position": 1, "body": "Why one?"},
        {"path": "new.txt", "position": 3, "body": "Why three?"},
    ]
    made = review(side, repository, pull.number, "REQUEST_CHANGES", "See below.", comments=said)
    review(side, repository, pull.number, "COMMENT", "Another.", comments=[{**said[0], "body": "Not this."}])
    threads = reviews.threads_of_review(hub, repository, pull.number, made["id"])
    assert [(thread.path, thread.text) for thread in threads] == [
        ("new.txt", "Why one?"),
        ("new.txt", "Why three?"),
    ]
    assert all(thread.thread_id.isdigit() for thread in threads)


def test_a_comment_on_a_line_is_made_edited_and_deleted(hub: Hub, side: Side, repository: str) -> None:
    pull, root = opened(hub, side, repository), f"/repos/{repository}/pulls"
    asked = {"body": "Why?", "path": "new.txt", "line": 2, "side": "RIGHT", "commit_id": pull.head}
    made = side.person(WRITER, "POST", f"{root}/{pull.number}/comments", asked, status=201)
    assert (made["path"], made["line"], made["body"]) == ("new.txt", 2, "Why?")
    path = f"{root}/comments/{made['id']}"
    assert hub.rest("GET", path).body["body"] == "Why?"
    side.person(WRITER, "PATCH", path, {"body": "Why so?"})
    assert [one["body"] for one in hub.pages(f"{root}/{pull.number}/comments", most=1)] == ["Why so?"]
    side.person(WRITER, "DELETE", path, status=204)
    with pytest.raises(NotFoundError):
        hub.rest("GET", path)
