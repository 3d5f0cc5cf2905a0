"""Webhooks: signed over the raw body, sent for what people and the App do, read by Cardinal's intake."""

import hashlib
import hmac
from datetime import datetime
from functools import partial
from typing import Any

from bot.github.client import Hub
from bot.ingest import events, facts
from bot.ingest.events.issues import IssueLabeled
from ledger.queue.change_reports import About
from tests.peer.relay import Delivery
from tests.peer.side import ADMIN, BOT, ORG, SECRET, WRITER, Side
from tests.waiting import until

BRANCH = "cardinal/1-totals"


def read(delivery: Delivery, bot_id: int) -> tuple[Any, ...]:
    """Return what Cardinal reads out of a delivery."""
    return events.read(delivery.event, delivery.payload, bot_id=bot_id)


def test_the_signature_is_that_of_the_raw_body(side: Side, repository: str) -> None:
    number = side.issue(repository, "Gr\u00fc\u00dfe \u2014 \U0001f426")
    side.say(repository, number, "umlauts: \u00e4\u00f6\u00fc, and a line\nmore")
    for delivery in (
        *side.relay.wait(repository, "issues", "opened"),
        *side.relay.wait(repository, "issue_comment", "created"),
    ):
        digest = hmac.new(SECRET.encode(), delivery.raw, hashlib.sha256).hexdigest()
        assert delivery.headers["x-hub-signature-256"] == f"sha256={digest}"
        assert delivery.headers["content-type"] == "application/json"


def test_a_delivery_says_who_where_and_through_which_installation(side: Side, repository: str) -> None:
    number = side.issue(repository)
    payload = side.relay.wait(repository, "issues", "opened")[0].payload
    assert payload["sender"]["login"] == ADMIN
    assert payload["repository"]["owner"]["login"] == ORG
    assert payload["installation"]["id"] == side.installation_id()
    assert (payload["issue"]["number"], payload["issue"]["title"]) == (number, "Totals are wrong")


def test_cardinal_reads_a_comment(hub: Hub, side: Side, repository: str) -> None:
    number = side.issue(repository)
    comment = side.say(repository, number, "/cardinal status")
    (said,) = read(side.relay.wait(repository, "issue_comment", "created")[0], hub.bot_id)
    assert isinstance(said, facts.CommentWritten)
    assert (said.repository, said.number, said.comment_id) == (repository, number, comment)
    assert (said.author, said.text, said.place) == (WRITER, "/cardinal status", "issue")


def test_a_comment_on_a_pull_request_is_one_on_a_pull_request(hub: Hub, side: Side, repository: str) -> None:
    number = _opened(hub, side, repository)
    side.say(repository, number, "Looks good")
    (said,) = read(side.relay.wait(repository, "issue_comment", "created")[0], hub.bot_id)
    assert (said.number, said.author) == (number, WRITER)


def test_cardinals_own_words_come_back_and_are_known_by_its_bots_id(
    hub: Hub, side: Side, repository: str
) -> None:
    number = side.issue(repository)
    hub.rest("POST", f"/repos/{repository}/issues/{number}/comments", body={"body": "/cardinal status"})
    echo = side.relay.wait(repository, "issue_comment", "created")[0]
    assert (echo.payload["sender"]["login"], echo.payload["sender"]["type"]) == (BOT, "Bot")
    assert echo.payload["sender"]["id"] == hub.bot_id
    assert read(echo, hub.bot_id) == ()
    assert read(echo, bot_id=0) != (), "another bot's words would count"


def test_cardinal_reads_that_an_issue_was_edited_closed_and_opened_again(
    hub: Hub, side: Side, repository: str
) -> None:
    number = side.issue(repository)
    path = f"/repos/{repository}/issues/{number}"
    side.person(ADMIN, "PATCH", path, {"title": "Sums"})
    side.person(ADMIN, "PATCH", path, {"state": "closed", "state_reason": "not_planned"})
    side.relay.wait(repository, "issues", "closed")
    side.person(ADMIN, "PATCH", path, {"state": "open"})
    for action in ("edited", "closed", "reopened"):
        found = read(side.relay.wait(repository, "issues", action)[0], hub.bot_id)
        assert any(isinstance(one, facts.IssueEdited) and one.number == number for one in found)


def test_cardinal_reads_that_a_label_was_put_on(hub: Hub, side: Side, repository: str) -> None:
    number = side.issue(repository)
    path = f"/repos/{repository}/issues/{number}/labels"
    side.person(ADMIN, "POST", path, {"labels": ["area:api"]})
    labeled = side.relay.wait(repository, "issues", "labeled")[0]
    at = datetime.fromisoformat(labeled.payload["issue"]["updated_at"])
    change = facts.CardChange(ADMIN, About.LABEL, "area:api", at)
    edited, put_on = read(labeled, hub.bot_id)
    assert edited == facts.IssueEdited(repository, number, change)
    assert isinstance(put_on, IssueLabeled)
    assert (put_on.repository, put_on.number, put_on.label, put_on.at) == (repository, number, "area:api", at)


def _opened(hub: Hub, side: Side, repository: str) -> int:
    side.write(repository, BRANCH)
    asked = {"title": "Totals", "head": BRANCH, "base": "main", "draft": False}
    return int(hub.rest("POST", f"/repos/{repository}/pulls", body=asked).body["number"])


def test_cardinal_reads_a_pull_request_through_its_life(hub: Hub, side: Side, repository: str) -> None:
    number = _opened(hub, side, repository)
    opened = side.relay.wait(repository, "pull_request", "opened")[0]
    (echo,), (seen,) = read(opened, hub.bot_id), read(opened, bot_id=0)
    assert isinstance(echo, facts.PullRequestRead)
    assert isinstance(seen, facts.PullRequestRead)
    assert (echo.echo, seen.echo) == (True, False)
    assert (seen.number, seen.branch, seen.state, seen.draft) == (number, BRANCH, "open", False)
    asked = {"merge_method": "squash", "sha": seen.head}
    side.person(WRITER, "PUT", f"/repos/{repository}/pulls/{number}/merge", asked)
    (merged,) = read(side.relay.wait(repository, "pull_request", "closed")[0], hub.bot_id)
    assert (merged.state, merged.merged, merged.by) == ("merged", True, WRITER)


def test_cardinal_reads_a_review(hub: Hub, side: Side, repository: str) -> None:
    number = _opened(hub, side, repository)
    asked = {"event": "REQUEST_CHANGES", "body": "Please add a test."}
    path = f"/repos/{repository}/pulls/{number}/reviews"
    review = side.person(ADMIN, "POST", path, asked)
    (found,) = read(side.relay.wait(repository, "pull_request_review", "submitted")[0], hub.bot_id)
    assert isinstance(found, facts.Reviewed)
    assert (found.number, found.review_id, found.author) == (number, review["id"], ADMIN)
    assert (found.verdict, found.body) == ("changes_requested", "Please add a test.")
    side.person(ADMIN, "PUT", f"{path}/{review['id']}/dismissals", {"message": "not any more"})
    (taken,) = read(side.relay.wait(repository, "pull_request_review", "dismissed")[0], hub.bot_id)
    assert taken == facts.ReviewTakenBack(repository, number, review["id"])


def test_cardinal_reads_a_comment_on_a_line(hub: Hub, side: Side, repository: str) -> None:
    number = _opened(hub, side, repository)
    asked = {
        "body": "Why?",
        "path": "new.txt",
        "line": 2,
        "side": "RIGHT",
        "commit_id": side.head(repository, BRANCH),
    }
    made = side.person(WRITER, "POST", f"/repos/{repository}/pulls/{number}/comments", asked)
    (said,) = read(side.relay.wait(repository, "pull_request_review_comment", "created")[0], hub.bot_id)
    assert (said.number, said.comment_id, said.place, said.text) == (number, made["id"], "review", "Why?")


def test_a_push_says_what_moved(hub: Hub, side: Side, repository: str) -> None:
    before = side.head(repository)
    after = side.write(repository, "main", ".github/cardinal.yml", "version: 1\n")
    # That of the repository's first commit may still be on its way.
    pushes = partial(side.relay.of, repository, "push", None)
    pushed = until(lambda: next((it for it in pushes() if it.payload["after"] == after), None), "the push")
    (found,) = read(pushed, hub.bot_id)
    assert isinstance(found, facts.Pushed)
    assert (found.ref, found.before, found.after) == ("refs/heads/main", before, after)
    assert found.default_branch == "main"
    assert found.touches_policy
