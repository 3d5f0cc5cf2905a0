"""Pull requests: opening, following their branch, merging."""

from collections.abc import Callable
from typing import Any

import pytest
import requests
from github import GithubException
from github.PullRequest import PullRequest

from tests.forge.conftest import Receiver, Town

Branch = Callable[..., str]
CART = "shop/cart.py"


def opened(town: Town, branch: Branch, name: str = "cardinal/1-x", **options: Any) -> PullRequest:
    branch(name)
    return (
        town.app()
        .get_repo("acme/shop")
        .create_pull("main", name, title="Add news", body="Closes #2", **options)
    )


def test_a_pull_request_shows_its_branch_and_its_files(
    hooked: Town, receiver: Receiver, branch: Branch
) -> None:
    pull = opened(hooked, branch)
    assert (pull.head.ref, pull.base.ref, pull.mergeable, pull.mergeable_state) == (
        "cardinal/1-x",
        "main",
        True,
        "clean",
    )
    assert [(file.filename, file.status, file.additions) for file in pull.get_files()] == [
        ("NEWS.md", "added", 1)
    ]
    assert [commit.commit.message for commit in pull.get_commits()] == ["Change cardinal/1-x"]
    payload = receiver.wait("pull_request", "opened")[0]
    assert payload["number"] == pull.number
    assert payload["pull_request"]["head"]["sha"] == pull.head.sha
    shop = hooked.app().get_repo("acme/shop")
    assert [one.number for one in shop.get_pulls(head="acme:cardinal/1-x")] == [pull.number]
    assert list(shop.get_pulls(head="acme:other")) == []
    assert shop.get_issue(pull.number).pull_request is not None


def test_the_diff_media_type_is_a_diff(town: Town, branch: Branch) -> None:
    pull = opened(town, branch)
    answer = requests.get(pull.url, headers={"Accept": "application/vnd.github.diff"}, timeout=60)
    assert answer.text.startswith("diff --git a/NEWS.md b/NEWS.md")
    assert "+news" in answer.text


@pytest.mark.parametrize(
    ("head", "base", "said"),
    [
        ("nowhere", "main", "invalid"),
        ("main", "nowhere", "invalid"),
        ("same", "main", "No commits between main and same"),
    ],
)
def test_a_pull_request_needs_two_branches_that_differ(town: Town, head: str, base: str, said: str) -> None:
    shop = town.app().get_repo("acme/shop")
    shop.create_git_ref("refs/heads/same", shop.get_branch("main").commit.sha)
    with pytest.raises(GithubException) as refused:
        shop.create_pull(base, head, title="x", body="")
    assert refused.value.status == 422
    assert said in str(refused.value.data["errors"])


def test_a_second_pull_request_for_a_branch_is_refused(town: Town, branch: Branch) -> None:
    opened(town, branch)
    with pytest.raises(GithubException) as refused:
        town.app().get_repo("acme/shop").create_pull("main", "cardinal/1-x", title="again", body="")
    assert "already exists for acme:cardinal/1-x" in str(refused.value.data)


def test_drafts_are_refused_where_they_are_not_supported(town: Town, branch: Branch) -> None:
    town.store.repos.get("acme", "shop").drafts_supported = False
    with pytest.raises(GithubException) as refused:
        opened(town, branch, draft=True)
    assert refused.value.status == 422
    assert refused.value.data["message"] == "Draft pull requests are not supported in this repository."


def test_a_draft_cannot_be_merged_until_it_is_ready(hooked: Town, receiver: Receiver, branch: Branch) -> None:
    pull = opened(hooked, branch, draft=True)
    with pytest.raises(GithubException) as refused:
        pull.merge()
    assert refused.value.status == 405
    pull.mark_ready_for_review()
    assert receiver.wait("pull_request", "ready_for_review")[0]["pull_request"]["draft"] is False
    pull.convert_to_draft()
    assert receiver.wait("pull_request", "converted_to_draft")
    assert hooked.app().get_repo("acme/shop").get_pull(pull.number).draft is True


@pytest.mark.parametrize(("method", "parents"), [("merge", 2), ("squash", 1), ("rebase", 1)])
def test_merging_closes_what_it_says_it_closes(
    hooked: Town, receiver: Receiver, branch: Branch, method: str, parents: int
) -> None:
    pull = opened(hooked, branch)
    branch("main", {"OTHER.md": "meanwhile\n"})
    done = pull.merge(merge_method=method)
    shop = hooked.app().get_repo("acme/shop")
    commit = shop.get_commit("main")
    assert (commit.sha, len(commit.parents)) == (done.sha, parents)
    assert shop.get_contents("NEWS.md").decoded_content == b"news\n"  # type: ignore[union-attr]
    assert shop.get_contents("OTHER.md").decoded_content == b"meanwhile\n"  # type: ignore[union-attr]
    closed = receiver.wait("pull_request", "closed")[0]["pull_request"]
    assert (closed["merged"], closed["merge_commit_sha"]) == (True, done.sha)
    assert closed["merged_by"]["login"] == "cardinal[bot]"
    assert receiver.wait("issues", "closed")[0]["issue"]["number"] == 2
    assert [push["ref"] for push in receiver.wait("push", count=3)][-1] == "refs/heads/main"


def test_a_moved_head_is_not_merged(town: Town, branch: Branch) -> None:
    pull = opened(town, branch)
    branch("cardinal/1-x", {"NEWS.md": "later\n"})
    with pytest.raises(GithubException) as refused:
        pull.merge(sha=pull.head.sha)
    assert refused.value.status == 409


def test_a_conflict_is_not_merged(town: Town, branch: Branch) -> None:
    branch("cardinal/1-x", {"README.md": "one\n"})
    branch("main", {"README.md": "two\n"})
    pull = town.app().get_repo("acme/shop").create_pull("main", "cardinal/1-x", title="x", body="")
    assert (pull.mergeable, pull.mergeable_state) == (False, "dirty")
    with pytest.raises(GithubException) as refused:
        pull.merge()
    assert refused.value.status == 405


def test_a_protected_branch_wants_an_approval(town: Town, branch: Branch) -> None:
    pull = opened(town, branch)
    shop = town.store.repos.get("acme", "shop")
    town.store.repos.protect(shop, "main", reviews=1)
    assert town.app().get_repo("acme/shop").get_pull(pull.number).mergeable_state == "blocked"
    with pytest.raises(GithubException) as refused:
        pull.merge()
    assert refused.value.status == 405
    town.person("mallory").get_repo("acme/shop").get_pull(pull.number).create_review(event="APPROVE")
    with pytest.raises(GithubException):
        pull.merge()
    town.person("bob").get_repo("acme/shop").get_pull(pull.number).create_review(event="APPROVE")
    assert pull.merge().merged


def test_a_push_moves_the_pull_request(hooked: Town, receiver: Receiver, branch: Branch) -> None:
    pull = opened(hooked, branch)
    sha = branch("cardinal/1-x", {"NEWS.md": "more\n"})
    payload = receiver.wait("pull_request", "synchronize")[0]
    assert (payload["before"], payload["after"]) == (pull.head.sha, sha)
    assert payload["pull_request"]["head"]["sha"] == sha


def test_deleting_the_branch_closes_the_pull_request(
    hooked: Town, receiver: Receiver, branch: Branch
) -> None:
    opened(hooked, branch)
    hooked.app().get_repo("acme/shop").get_git_ref("heads/cardinal/1-x").delete()
    assert receiver.wait("pull_request", "closed")[0]["pull_request"]["merged"] is False
    assert receiver.wait("delete")[0]["ref"] == "cardinal/1-x"


def test_files_are_read_and_written_with_their_sha(town: Town) -> None:
    shop = town.app().get_repo("acme/shop")
    file = shop.get_contents(CART)
    assert not isinstance(file, list)
    shop.update_file(CART, "Change the cart", "# new\n", file.sha, branch="main")
    with pytest.raises(GithubException) as refused:
        shop.update_file(CART, "Change it again", "# newer\n", file.sha, branch="main")
    assert refused.value.status == 409
    listed = shop.get_contents("shop")
    assert isinstance(listed, list)
    assert [one.name for one in listed] == [
        "__init__.py",
        "cart.py",
        "prices.py",
        "receipt.py",
    ]
    with pytest.raises(GithubException) as missing:
        shop.get_contents(".github/nothing.yml")
    assert missing.value.status == 404


def test_two_branches_are_compared(town: Town, branch: Branch) -> None:
    branch("topic")
    branch("main", {"OTHER.md": "x\n"})
    found = town.app().get_repo("acme/shop").compare("main", "topic")
    assert (found.status, found.ahead_by, found.behind_by) == ("diverged", 1, 1)
    assert [file.filename for file in found.files] == ["NEWS.md"]


def test_a_protected_branch_refuses_a_merge_by_each_of_its_rules_and_says_which(
    town: Town, branch: Branch
) -> None:
    pull = opened(town, branch)
    rules = {"repository": "acme/shop", "actor": "alice", "action": "protect", "reviews": 1, "checks": ["ci"]}
    assert requests.post(f"{town.url}/_forge/repository", json=rules, timeout=60).ok
    reviewers = {
        login: town.person(login).get_repo("acme/shop").get_pull(pull.number) for login in ("alice", "bob")
    }

    def refusal() -> str:
        with pytest.raises(GithubException) as refused:
            reviewers["alice"].merge()
        assert refused.value.status == 405
        return str(refused.value.data["message"])

    assert refusal() == "At least 1 approving review is required by reviewers with write access."
    reviewers["alice"].create_review(event="APPROVE")
    reviewers["bob"].create_review(event="REQUEST_CHANGES", body="No.")
    assert refusal() == "Changes have been requested by a reviewer with write access."
    reviewers["bob"].create_review(event="APPROVE")
    assert refusal() == 'Required status check "ci" is expected.'
    shop = town.app().get_repo("acme/shop")
    shop.create_check_run("ci", pull.head.sha, conclusion="failure")
    assert refusal() == 'Required status check "ci" is failing.'
    shop.create_check_run("ci", pull.head.sha, conclusion="success")
    assert reviewers["alice"].merge().merged
