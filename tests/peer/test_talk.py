"""Issues, comments and labels: written, edited, listed page by page, read by time, deleted."""

import time
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.github.api import issues
from bot.github.client import Hub, repository_path
from bot.github.errors import NotFoundError, RefusedError
from tests.peer.side import ADMIN, BOT, Side


def comments(hub: Hub, repository: str, number: int, **params: Any) -> list[Any]:
    """Return what Cardinal's client lists, all pages of it."""
    path = f"{repository_path(repository)}/issues/{number}/comments"
    return list(hub.pages(path, params=params, most=10))


def test_an_issue_is_opened_read_edited_and_closed(hub: Hub, side: Side, repository: str) -> None:
    asked = {"title": "Totals", "body": "Add up.", "labels": ["bug"]}
    answer = hub.rest("POST", f"/repos/{repository}/issues", body=asked)
    number = answer.body["number"]
    assert (answer.status, answer.body["state"], answer.body["user"]["login"]) == (201, "open", BOT)
    assert isinstance(answer.body["id"], int)
    assert answer.body["node_id"]
    path = f"/repos/{repository}/issues/{number}"
    hub.rest("PATCH", path, body={"title": "Sums", "body": "Add them up."})
    found = hub.rest("GET", path).body
    assert (found["title"], found["body"]) == ("Sums", "Add them up.")
    assert [one["name"] for one in found["labels"]] == ["bug"]
    assert "pull_request" not in found
    hub.rest("PATCH", path, body={"state": "closed", "state_reason": "not_planned"})
    found = hub.rest("GET", path).body
    assert (found["state"], found["state_reason"]) == ("closed", "not_planned")
    assert issues.find_closer(hub, repository, number) == BOT


def test_cardinal_reads_who_closed_an_issue(hub: Hub, side: Side, repository: str) -> None:
    number = side.issue(repository)
    assert issues.find_closer(hub, repository, number) == ""
    side.person(ADMIN, "PATCH", f"/repos/{repository}/issues/{number}", {"state": "closed"})
    assert issues.find_closer(hub, repository, number) == ADMIN
    assert issues.find_closer(hub, repository, 999) == ""


def test_an_issue_without_a_title_is_refused(side: Side, repository: str) -> None:
    asked = {"body": "no title"}
    assert side.ask("POST", f"/repos/{repository}/issues", asked, token=side.token()).status == 422


def test_issues_are_numbered_from_one_and_listed_newest_first(hub: Hub, side: Side, repository: str) -> None:
    assert [side.issue(repository, title) for title in ("a", "b", "c")] == [1, 2, 3]
    side.person(ADMIN, "PATCH", f"/repos/{repository}/issues/2", {"state": "closed"})
    path = f"/repos/{repository}/issues"
    assert [one["number"] for one in hub.pages(path, most=1)] == [3, 1]
    assert [one["number"] for one in hub.pages(path, params={"state": "all"}, most=1)] == [3, 2, 1]


def test_a_comment_is_made_read_edited_and_deleted(hub: Hub, side: Side, repository: str) -> None:
    number = side.issue(repository)
    answer = hub.rest("POST", f"/repos/{repository}/issues/{number}/comments", body={"body": "first"})
    assert answer.status == 201
    path = f"/repos/{repository}/issues/comments/{answer.body['id']}"
    assert hub.rest("GET", path).body["body"] == "first"
    assert (
        hub.rest("PATCH", path, body={"body": "second <!-- hidden -->"}).body["body"]
        == "second <!-- hidden -->"
    )
    assert [one["body"] for one in comments(hub, repository, number)] == ["second <!-- hidden -->"]
    assert hub.rest("GET", f"/repos/{repository}/issues/{number}").body["comments"] == 1
    assert hub.rest("DELETE", path).status == 204
    with pytest.raises(NotFoundError):
        hub.rest("PATCH", path, body={"body": "third"})
    assert comments(hub, repository, number) == []


def test_comments_come_oldest_first_and_in_pages(hub: Hub, side: Side, repository: str) -> None:
    number = side.issue(repository)
    texts = [f"comment {one}" for one in range(105)]
    for text in texts:
        side.say(repository, number, text)
    assert [one["body"] for one in comments(hub, repository, number)] == texts
    path = f"/repos/{repository}/issues/{number}/comments"
    first = hub.rest("GET", path, params={"per_page": 50})
    assert len(first.body) == 50
    assert 'rel="next"' in first.headers["link"]
    assert "page=3" in first.headers["link"]
    last = hub.rest("GET", path, params={"per_page": 50, "page": 3})
    assert len(last.body) == 5
    assert 'rel="next"' not in last.headers["link"]
    assert hub.rest("GET", path, params={"per_page": 50, "page": 4}).body == []


def test_issues_can_be_read_from_a_moment_on(hub: Hub, side: Side, repository: str) -> None:
    quiet, number = side.issue(repository, "Quiet"), side.issue(repository)
    since = next_second(side.person(ADMIN, "GET", f"/repos/{repository}/issues/{number}"))
    side.person(ADMIN, "PATCH", f"/repos/{repository}/issues/{number}", {"title": "Sums"})
    found = hub.pages(f"/repos/{repository}/issues", params={"since": since, "state": "all"}, most=1)
    assert [one["number"] for one in found] == [number]
    assert quiet != number


def next_second(made: dict[str, Any]) -> str:
    """Wait until the second after the one when it was made has passed, and return it: `since` has whole ones.

    Passed, not begun: the peer compares `.123Z` with `Z` as texts, and so finds nothing of that very second.
    """
    begins = int(datetime.fromisoformat(made["created_at"]).timestamp()) + 1
    time.sleep(max(0.0, begins + 1.05 - time.time()))
    return datetime.fromtimestamp(begins, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_labels_are_made_put_on_and_taken_off(hub: Hub, side: Side, repository: str) -> None:
    number, root = side.issue(repository), f"/repos/{repository}"
    answer = hub.rest("POST", f"{root}/labels", body={"name": "area:api", "color": "c5def5"})
    assert (answer.status, answer.body["name"], answer.body["color"]) == (201, "area:api", "c5def5")
    with pytest.raises(RefusedError) as refused:
        hub.rest("POST", f"{root}/labels", body={"name": "area:api", "color": "c5def5"})
    assert refused.value.status == 422
    put_on = hub.rest(
        "POST", f"{root}/issues/{number}/labels", body={"labels": ["area:api", "new here"]}
    ).body
    assert [one["name"] for one in put_on] == ["area:api", "new here"]
    left = hub.rest("DELETE", f"{root}/issues/{number}/labels/area:api").body
    assert [one["name"] for one in left] == ["new here"]
    assert [one["name"] for one in hub.rest("GET", f"{root}/issues/{number}/labels").body] == ["new here"]
    with pytest.raises(NotFoundError):
        hub.rest("DELETE", f"{root}/issues/{number}/labels/area:api")
