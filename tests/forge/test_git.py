"""git over HTTP with the real git."""

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import requests
from github import GithubException

from forge.git.repository import Git, GitError
from tests.forge.conftest import Receiver, Town


def git(folder: Path, *words: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
    people = {f"GIT_{who}_{what}": "bob@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    clean = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        ["git", *words],
        cwd=folder,
        env={**clean, **people},
        capture_output=True,
        text=True,
        check=check,
        timeout=60,
    )


def address(town: Town, token: str = "", repo: str = "acme/shop") -> str:
    login = f"x-access-token:{token}@" if token else ""
    return f"{town.url.replace('http://', f'http://{login}')}/{repo}.git"


@pytest.fixture
def clone(town: Town, tmp_path: Path) -> Path:
    git(tmp_path, "clone", "-q", address(town, town.token()), "work")
    return tmp_path / "work"


def commit(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", f"Write {name}")
    return git(folder, "rev-parse", "HEAD").stdout.strip()


def test_a_push_is_announced_and_the_pull_request_follows(
    hooked: Town, receiver: Receiver, clone: Path
) -> None:
    git(clone, "switch", "-qc", "cardinal/1-x")
    first = commit(clone, "NEWS.md", "one\n")
    git(clone, "push", "-q", "origin", "cardinal/1-x")
    pushed = receiver.wait("push")[0]
    assert (pushed["ref"], pushed["after"], pushed["created"]) == ("refs/heads/cardinal/1-x", first, True)
    assert [(one["id"], one["added"]) for one in pushed["commits"]] == [(first, ["NEWS.md"])]
    assert pushed["sender"]["login"] == "cardinal[bot]"
    assert receiver.wait("create")[0]["ref"] == "cardinal/1-x"
    pull = hooked.app().get_repo("acme/shop").create_pull("main", "cardinal/1-x", title="x", body="")
    second = commit(clone, "NEWS.md", "two\n")
    git(clone, "push", "-q", "origin", "cardinal/1-x")
    payload = receiver.wait("pull_request", "synchronize")[0]
    assert (payload["number"], payload["after"]) == (pull.number, second)
    git(clone, "commit", "-q", "--amend", "-m", "Rewritten")
    git(clone, "push", "-qf", "origin", "cardinal/1-x")
    assert receiver.wait("push", count=3)[-1]["forced"] is True


def test_the_seeded_shops_own_tests_pass(clone: Path) -> None:
    done = subprocess.run(
        ["python3", "-m", "unittest", "discover", "-s", "tests", "-t", "."],
        cwd=clone,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "Ran 5 tests" in done.stderr


def test_only_a_token_for_workflows_pushes_or_merges_files_of_actions(town: Town, tmp_path: Path) -> None:
    granted = {"contents": "write", "pull_requests": "write"}
    narrow, wide = (town.token(each) for each in (granted, {**granted, "workflows": "write"}))
    git(tmp_path, "clone", "-q", address(town, narrow), "work")
    clone = tmp_path / "work"
    git(clone, "switch", "-qc", "x")
    (clone / ".github/workflows").mkdir(parents=True)
    head = commit(clone, ".github/workflows/ci.yml", "on: push\n")
    refused = git(clone, "push", "-q", "origin", "x", check=False)
    assert refused.returncode
    assert "update workflow `.github/workflows/ci.yml` without `workflows` permission" in refused.stderr
    git(clone, "push", "-q", address(town, wide), "x")
    git(clone, "push", "-q", "origin", f"{head}:refs/heads/again")  # it is no new commit
    pull = town.client(narrow).get_repo("acme/shop").create_pull("main", "x", title="x", body="")
    with pytest.raises(GithubException, match="without `workflows` permission") as refusal:
        pull.merge()
    assert refusal.value.status == 403
    assert town.client(wide).get_repo("acme/shop").get_pull(pull.number).merge().merged


def test_who_may_not_write_cannot_push(town: Town, clone: Path) -> None:
    commit(clone, "NEWS.md", "one\n")
    for token in (town.token({"contents": "read"}), "forge-user-mallory", "ghs_wrong"):
        refused = git(clone, "push", "-q", address(town, token), "HEAD:refs/heads/x", check=False)
        assert refused.returncode != 0
    assert git(clone, "push", "-q", address(town), "HEAD:refs/heads/x", check=False).returncode != 0
    assert git(clone, "push", "-q", address(town, "forge-user-bob"), "HEAD:refs/heads/x").returncode == 0


def test_an_expired_token_cannot_fetch(town: Town, clone: Path, tmp_path: Path) -> None:
    assert git(tmp_path, "clone", "-q", address(town), "anonymous").returncode == 0
    town.store.repos.get("acme", "shop").private = True
    assert git(clone, "fetch", "origin", check=False).returncode == 0
    town.store.apps.expire_tokens()
    assert git(clone, "fetch", "origin", check=False).returncode != 0


def test_a_private_repository_is_hidden(town: Town, tmp_path: Path) -> None:
    town.store.repos.get("acme", "shop").private = True
    assert git(tmp_path, "clone", "-q", address(town), "a", check=False).returncode != 0
    assert git(tmp_path, "clone", "-q", address(town, "forge-user-mallory"), "b", check=False).returncode != 0
    assert git(tmp_path, "clone", "-q", address(town, "forge-user-carol"), "c").returncode == 0


def test_a_protected_branch_declines_a_push(town: Town, clone: Path) -> None:
    shop = town.store.repos.get("acme", "shop")
    town.store.repos.protect(shop, "main", reviews=1)
    commit(clone, "NEWS.md", "one\n")
    refused = git(clone, "push", "origin", "main", check=False)
    assert refused.returncode != 0
    assert "GH006" in refused.stderr


def test_an_empty_repository_can_be_cloned_and_filled(town: Town, tmp_path: Path) -> None:
    store = town.store
    store.repos.create(store.users.get("acme"), "fresh")
    git(tmp_path, "clone", "-q", address(town, town.token(), "acme/fresh"), "fresh")
    sha = commit(tmp_path / "fresh", "README.md", "hi\n")
    git(tmp_path / "fresh", "push", "-q", "origin", "HEAD:main")
    assert town.app().get_repo("acme/fresh").get_branch("main").commit.sha == sha


def test_a_fetch_is_sent_while_git_makes_it(
    town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "go")
    program = tmp_path / "git"
    said = r"Content-Type: application/x-git-upload-pack-result\r\n\r\nfirst"
    program.write_text(f"#!/bin/sh\nprintf '{said}'\nread -r _ <{tmp_path}/go\nprintf last\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    url = f"{address(town)}/git-upload-pack"
    with requests.post(url, data=b"0000", stream=True, timeout=60) as answer:
        pieces = answer.iter_content(5)
        assert next(pieces) == b"first"
        (tmp_path / "go").write_text("\n")
        assert b"".join(pieces) == b"last"


def test_a_copy_is_made_from_another_disk_as_well(tmp_path: Path) -> None:
    with TemporaryDirectory(dir="/dev/shm") as folder:
        source = Path(folder)
        git(source, "init", "-q", "-b", "main")
        sha = commit(source, "a", "a")
        Git(tmp_path / "copy.git").copy(source / ".git", "main")
        with pytest.raises(GitError, match="nowhere not found"):
            Git(tmp_path / "none.git").copy(source / ".git", "nowhere")
    assert Git(tmp_path / "copy.git").refs() == {"refs/heads/main": sha}
