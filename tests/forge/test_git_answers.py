"""What the forge reads of a repository without asking git, and what it keeps of git's answers."""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from forge.git import Git, GitError, Signature
from forge.merging import ahead_behind, diff

ANN = Signature("Ann", "ann@example.org", datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture
def shop(tmp_path: Path) -> Git:
    made = Git(tmp_path / "store/acme/shop.git")
    made.create("main")
    return made


def write(git: Git, branch: str, text: str) -> str:
    return git.write_files(branch, {"file": text.encode()}, text, ANN)


def test_refs_are_those_that_git_lists_loose_or_packed(shop: Git) -> None:
    assert shop.refs() == {}
    first = write(shop, "main", "one\n")
    shop.update_ref("refs/heads/a/deep/one", first)
    shop.update_ref("refs/tags/v1", first)
    shop.run(
        "tag", "--annotate", "--message", "Two", "v2", first, extra={"GIT_COMMITTER_NAME": "A", "EMAIL": "a"}
    )
    for packed in (False, True):
        if packed:
            shop.run("pack-refs", "--all")
            write(shop, "main", "two\n")  # loose again: newer than the packed one
        (shop.path / "refs/heads/other.lock").write_text("")
        listed = shop.line("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags")
        assert [f"{name} {sha}" for name, sha in shop.refs().items()] == listed.splitlines()
        assert len(shop.refs()) == 4
    shop.delete_ref("refs/heads/a/deep/one")
    assert set(shop.refs()) == {"refs/heads/main", "refs/tags/v1", "refs/tags/v2"}


def test_an_answer_is_kept_for_commits_alone_and_for_this_repository_alone(shop: Git) -> None:
    first = write(shop, "main", "one\n")
    second = write(shop, "main", "two\n")
    assert shop.commit(first).message == "one"
    assert ahead_behind(shop, first, second) == (1, 0)
    assert "+two" in diff(shop, first, second)
    assert "+two" in diff(shop, first, "main")
    assert shop.log("main", limit=1)[0].sha == second
    third = write(shop, "main", "three\n")
    assert "+three" in diff(shop, first, "main")
    assert shop.log("main", limit=1)[0].sha == third
    shutil.rmtree(shop.path)
    shop.create("main")
    with pytest.raises(GitError):
        shop.commit(first)
    with pytest.raises(GitError):
        diff(shop, first, second)


def test_git_is_no_part_of_the_group_that_a_terminal_kills(shop: Git) -> None:
    group = shop.line("-c", "alias.group=!cut -d' ' -f5 /proc/self/stat", "group")
    assert int(group) != os.getpgrp()
