"""Commits that must be verified: pushes, merges and refs under rules, and GitHub's verdict."""

import subprocess
from pathlib import Path

import pytest
import requests
from github import GithubException

from tests.forge.conftest import Town
from tests.forge.test_git import address, commit, git

ADDRESS = "bob@x"  # of whoever commits in these clones


@pytest.fixture
def clone(town: Town, tmp_path: Path) -> Path:
    git(tmp_path, "clone", "-q", address(town, town.token()), "work")
    return tmp_path / "work"


def change(town: Town, **wanted: object) -> None:
    given = {"repository": "acme/shop", "actor": "alice", **wanted}
    assert requests.post(f"{town.url}/_forge/repository", json=given, timeout=60).ok


def give_rules(town: Town, pattern: str, *kinds: str) -> None:
    change(town, action="ruleset", branch=pattern, rules=[{"type": kind} for kind in kinds])


def sign(folder: Path, key: Path) -> str:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True, timeout=60)
    settings = {"gpg.format": "ssh", "user.signingkey": str(key), "commit.gpgsign": "true"}
    for name, value in settings.items():
        git(folder, "config", name, value)
    return key.with_suffix(".pub").read_text()


def test_a_ruleset_declines_unsigned_commits_and_takes_signed_ones(
    town: Town, clone: Path, tmp_path: Path
) -> None:
    give_rules(town, "cardinal/*", "required_signatures")
    git(clone, "switch", "-qc", "cardinal/1-x")
    unsigned = commit(clone, "NEWS.md", "one\n")
    refused = git(clone, "push", "origin", "cardinal/1-x", check=False)
    assert refused.returncode != 0
    assert "GH013: Repository rule violations found for refs/heads/cardinal/1-x." in refused.stderr
    assert "Commits must have verified signatures." in refused.stderr
    assert unsigned in refused.stderr
    assert git(clone, "push", "-q", "origin", "HEAD:refs/heads/elsewhere").returncode == 0
    key = sign(clone, tmp_path / "key")
    git(clone, "reset", "-q", "--hard", "origin/main")
    signed = commit(clone, "NEWS.md", "two\n")
    assert "GH013" in git(clone, "push", "origin", "cardinal/1-x", check=False).stderr
    change(town, action="verify", email=ADDRESS, key=key)
    git(clone, "push", "-q", "origin", "cardinal/1-x")
    shop = town.app().get_repo("acme/shop")
    verdict = shop.get_commit(signed).raw_data["commit"]["verification"]
    assert (verdict["verified"], verdict["reason"]) == (True, "valid")
    assert verdict["signature"].startswith("-----BEGIN SSH SIGNATURE-----")
    assert verdict["payload"].startswith("tree ")
    assert "gpgsig" not in verdict["payload"]
    assert shop.get_commit(unsigned).raw_data["commit"]["verification"]["reason"] == "unsigned"


def test_a_key_that_is_not_the_committers_verifies_nothing(town: Town, clone: Path, tmp_path: Path) -> None:
    change(town, action="verify", email="alice@x", key=sign(clone, tmp_path / "key"))
    town.store.repos.want_signatures(town.store.repos.get("acme", "shop"), "main")
    sha = commit(clone, "NEWS.md", "one\n")
    refused = git(clone, "push", "origin", "main", check=False)
    assert "GH006: Protected branch update failed for refs/heads/main." in refused.stderr
    assert "Commits must have verified signatures." in refused.stderr
    git(clone, "push", "-q", "origin", "HEAD:refs/heads/topic")
    verdict = town.app().get_repo("acme/shop").get_commit(sha).raw_data["commit"]["verification"]
    assert (verdict["verified"], verdict["reason"]) == (False, "bad_email")


def test_an_unsigned_commit_is_not_merged_and_a_linear_branch_takes_no_merge_commit(
    town: Town, clone: Path
) -> None:
    git(clone, "switch", "-qc", "topic")
    commit(clone, "NEWS.md", "one\n")
    git(clone, "push", "-q", "origin", "topic")
    shop = town.app().get_repo("acme/shop")
    pull = shop.create_pull("main", "topic", title="x", body="")
    give_rules(town, "main", "required_signatures", "required_linear_history")
    _, rules = town.app().requester.requestJsonAndCheck("GET", "/repos/acme/shop/rules/branches/main")
    assert [rule["type"] for rule in rules] == ["required_signatures", "required_linear_history"]
    assert shop.get_pull(pull.number).mergeable_state == "blocked"
    with pytest.raises(GithubException) as unsigned:
        pull.merge(merge_method="squash")
    assert unsigned.value.status == 405
    assert unsigned.value.data["message"] == "Commits must have verified signatures."
    give_rules(town, "main", "required_linear_history")
    with pytest.raises(GithubException) as merged:
        pull.merge(merge_method="merge")
    assert "must not contain merge commits" in merged.value.data["message"]
    assert pull.merge(merge_method="squash").merged


def test_no_ref_is_set_to_an_unsigned_commit_that_no_branch_has(town: Town, clone: Path) -> None:
    give_rules(town, "cardinal/*", "required_signatures")
    repos = town.store.repos
    repo = repos.get("acme", "shop")
    bare, actor = repos.git(repo), town.store.users.get("alice")
    base = bare.branches()["main"]
    loose = bare.commit_tree(bare.commit(base).tree, [base], "Loose", repos.signature(actor))
    shop = town.app().get_repo("acme/shop")
    with pytest.raises(GithubException) as refused:
        shop.create_git_ref("refs/heads/cardinal/1-x", loose)
    assert refused.value.status == 422
    assert "Commits must have verified signatures." in refused.value.data["message"]


PATTERN = {"operator": "starts_with", "pattern": "fix: "}


def test_a_ruleset_declines_messages_and_names_that_do_not_fit_and_takes_those_that_do(
    town: Town, clone: Path
) -> None:
    rules = [{"type": "commit_message_pattern", "parameters": PATTERN}, {"type": "non_fast_forward"}]
    change(town, action="ruleset", branch="cardinal/*", rules=rules)
    commit(clone, "NEWS.md", "one\n")
    refused = git(clone, "push", "origin", "HEAD:refs/heads/cardinal/1-x", check=False).stderr
    assert "GH013: Repository rule violations found for refs/heads/cardinal/1-x." in refused
    assert "Commit message must start with the pattern: fix: " in refused
    git(clone, "push", "-q", "origin", "HEAD:refs/heads/elsewhere")
    git(clone, "commit", "-q", "--amend", "-m", "fix: one")
    git(clone, "push", "-q", "origin", "HEAD:refs/heads/cardinal/1-x")
    git(clone, "commit", "-q", "--amend", "-m", "fix: two")
    forced = git(clone, "push", "-f", "origin", "HEAD:refs/heads/cardinal/1-x", check=False).stderr
    assert "Cannot force-push to this branch." in forced
    change(town, action="ruleset", branch="cardinal/*", rules=rules, bypass=True)
    git(clone, "push", "-qf", "origin", "HEAD:refs/heads/cardinal/1-x")
    _, ruleset = town.app().requester.requestJsonAndCheck("GET", "/repos/acme/shop/rulesets/1")
    assert ruleset["current_user_can_bypass"] == "always"


def test_a_merge_waits_for_the_deployment_and_fits_the_pattern_of_messages(town: Town, clone: Path) -> None:
    git(clone, "switch", "-qc", "topic")
    sha = commit(clone, "NEWS.md", "one\n")
    git(clone, "push", "-q", "origin", "topic")
    pull = town.app().get_repo("acme/shop").create_pull("main", "topic", title="x", body="")
    deployed = {"required_deployment_environments": ["staging"]}
    rules = [
        {"type": "required_deployments", "parameters": deployed},
        {"type": "commit_message_pattern", "parameters": PATTERN},
    ]
    change(town, action="ruleset", branch="main", rules=rules)
    with pytest.raises(GithubException) as waiting:
        pull.merge(merge_method="squash", commit_title="fix: x")
    assert waiting.value.data["message"] == "Must be deployed to staging before it can be merged."
    change(town, action="deploy", environment="staging", sha=sha)
    with pytest.raises(GithubException) as unfit:
        pull.merge(merge_method="squash", commit_title="x")
    assert (unfit.value.status, "must start with the pattern: fix: " in str(unfit.value)) == (405, True)
    assert pull.merge(merge_method="squash", commit_title="fix: x").merged


def test_a_commit_that_an_app_makes_is_signed_unless_it_names_an_author(town: Town) -> None:
    shop = town.app().get_repo("acme/shop")
    head = shop.get_branch("main").commit
    asked = {"message": "Same again", "tree": head.commit.tree.sha, "parents": [head.sha]}
    ask = town.app().requester.requestJsonAndCheck
    _, made = ask("POST", "/repos/acme/shop/git/commits", input=asked)
    assert (made["verification"]["verified"], made["author"]["name"]) == (True, made["committer"]["name"])
    assert [parent["sha"] for parent in made["parents"]] == [head.sha]
    named = {**asked, "author": {"name": "Bob", "email": "bob@x"}}
    _, unsigned = ask("POST", "/repos/acme/shop/git/commits", input=named)
    assert unsigned["verification"]["reason"] == "unsigned"
    with pytest.raises(GithubException) as refused:
        ask("POST", "/repos/acme/shop/git/commits", input={**asked, "tree": "0" * 40})
    assert refused.value.status == 422
