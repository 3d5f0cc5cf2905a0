"""Issues and their conversation."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
import requests
from github import GithubException

from tests.forge.conftest import Receiver, Town


def test_a_comment_by_the_app_is_its_bots(hooked: Town, receiver: Receiver) -> None:
    issue = hooked.app().get_repo("acme/shop").get_issue(1)
    made = issue.create_comment("Working on it.")
    assert made.user.login == "cardinal[bot]"
    assert made.user.type == "Bot"
    payload = receiver.wait("issue_comment", "created")[0]
    assert payload["sender"]["login"] == "cardinal[bot]"
    assert payload["comment"]["performed_via_github_app"]["slug"] == "cardinal"
    assert payload["installation"]["id"] == hooked.world.installation.id


def test_a_tick_by_a_person_is_an_edit_with_the_old_text(hooked: Town, receiver: Receiver) -> None:
    made = hooked.app().get_repo("acme/shop").get_issue(1).create_comment("- [ ] approve")
    hooked.person("bob").get_repo("acme/shop").get_issue(1).get_comment(made.id).edit("- [x] approve")
    payload = receiver.wait("issue_comment", "edited")[0]
    assert payload["changes"]["body"]["from"] == "- [ ] approve"
    assert payload["sender"]["login"] == "bob"
    assert payload["comment"]["user"]["login"] == "cardinal[bot]"


def test_an_edit_that_changes_nothing_is_not_announced(hooked: Town, receiver: Receiver) -> None:
    comment = hooked.app().get_repo("acme/shop").get_issue(1).create_comment("same")
    comment.edit("same")
    hooked.wait_for_webhooks()
    assert receiver.named("issue_comment", "edited") == []


@pytest.mark.parametrize(("text", "status"), [("x" * 65_536, 201), ("x" * 65_537, 422), ("  ", 422)])
def test_a_comment_has_a_length(town: Town, text: str, status: int) -> None:
    issue = town.app().get_repo("acme/shop").get_issue(1)
    if status == 201:
        assert len(issue.create_comment(text).body) == len(text)
        return
    with pytest.raises(GithubException) as refused:
        issue.create_comment(text)
    assert refused.value.status == status


def test_comments_come_in_pages_and_since_a_moment(town: Town) -> None:
    issue = town.app().get_repo("acme/shop").get_issue(1)
    for number in range(35):
        issue.create_comment(f"number {number}")
    assert [comment.body for comment in issue.get_comments()] == [f"number {number}" for number in range(35)]
    assert list(issue.get_comments(since=datetime.now(UTC) + timedelta(minutes=1))) == []
    assert issue.get_comments(since=datetime.now(UTC) - timedelta(minutes=1)).totalCount == 35


def test_closing_and_labels_are_announced_with_their_sender(hooked: Town, receiver: Receiver) -> None:
    issue = hooked.person("alice").get_repo("acme/shop").get_issue(1)
    issue.add_to_labels("bug")
    issue.edit(state="closed", state_reason="not_planned")
    assert receiver.wait("issues", "labeled")[0]["label"]["name"] == "bug"
    closed = receiver.wait("issues", "closed")[0]
    assert closed["issue"]["state_reason"] == "not_planned"
    assert closed["sender"]["login"] == "alice"


def test_an_outsider_may_talk_but_not_steer(town: Town) -> None:
    issue = town.person("mallory").get_repo("acme/shop").get_issue(1)
    assert issue.create_comment("hello").raw_data["author_association"] == "NONE"
    deeds: tuple[Callable[[], object], ...] = (
        lambda: issue.edit(title="mine"),
        lambda: issue.add_to_labels("bug"),
    )
    for deed in deeds:
        with pytest.raises(GithubException) as refused:
            deed()
        assert refused.value.status == 403


def test_a_person_may_not_edit_what_somebody_else_said_without_the_role(town: Town) -> None:
    made = town.person("bob").get_repo("acme/shop").get_issue(1).create_comment("mine")
    with pytest.raises(GithubException) as refused:
        town.person("mallory").get_repo("acme/shop").get_issue(1).get_comment(made.id).edit("yours")
    assert refused.value.status == 403


def test_roles_are_told_as_github_tells_them(town: Town) -> None:
    shop = town.app().get_repo("acme/shop")
    told = {login: shop.get_collaborator_permission(login) for login in ("alice", "bob", "mallory")}
    assert told == {"alice": "admin", "bob": "write", "mallory": "read"}
    with pytest.raises(GithubException) as refused:
        shop.get_collaborator_permission("nobody")
    assert refused.value.status == 404


def test_reacting_twice_is_once_and_fires_nothing(hooked: Town, receiver: Receiver) -> None:
    comment = hooked.app().get_repo("acme/shop").get_issue(1).create_comment("hi")
    assert comment.create_reaction("eyes").id == comment.create_reaction("eyes").id
    hooked.wait_for_webhooks()
    assert [one["event"] for one in receiver.got] == ["issue_comment"]


def test_hostile_text_comes_back_as_it_went_in(town: Town) -> None:
    title = "'; DROP TABLE x; -- <script>alert(1)</script> $(rm -rf /) \u202egnp.exe"
    made = town.app().get_repo("acme/shop").create_issue(title, body="\U0001f600\r\n`x`")
    again = town.app().get_repo("acme/shop").get_issue(made.number)
    assert (again.title, again.body) == (title, "\U0001f600\r\n`x`")


def test_a_labels_address_can_hold_every_name(town: Town) -> None:
    repo = town.app().get_repo("acme/shop")
    for name in ("good first issue", "area:api", "50%", "gr\u00fcn"):
        made = repo.create_label(name, "c5def5")
        assert re.fullmatch(r"[!-~]+", made.url), "an address has no spaces and nothing but ASCII"
        assert requests.get(made.url, timeout=60).json()["name"] == name


def test_a_locked_issue_takes_comments_of_those_who_may_write_only(town: Town) -> None:
    issue = town.app().get_repo("acme/shop").get_issue(1)
    issue.lock("resolved")
    with pytest.raises(GithubException, match="because issue is locked") as refused:
        issue.create_comment("hello")
    assert refused.value.status == 403
    town.person("bob").get_repo("acme/shop").get_issue(1).create_comment("I may write here.")
    issue.unlock()
    issue.create_comment("hello")


def test_a_deleted_label_leaves_its_issues(town: Town) -> None:
    repo = town.app().get_repo("acme/shop")
    issue = repo.get_issue(1)
    issue.add_to_labels("new one")
    repo.get_label("new one").delete()
    assert [label.name for label in repo.get_issue(1).labels] == []
