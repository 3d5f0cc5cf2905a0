"""What the forge reads of a repository without asking git, and what it keeps of git's answers."""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from forge.git.merging import ahead_behind, diff, is_mergeable, squash_commit
from forge.git.repository import Git, GitError, Signature

ANN = Signature("Ann", "ann@example.org", datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture
def shop(tmp_path: Path) -> Git:
    git = Git(tmp_path / "store/acme/shop.git")
    git.create("main")
    return git


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


def test_a_copy_of_the_folder_has_what_is_kept_and_its_own_objects(shop: Git) -> None:
    first = write(shop, "main", "one\n")
    shop.update_ref("refs/heads/two", first)
    head, base = write(shop, "two", "two\n"), shop.write_files("main", {"other": b"1\n"}, "Other", ANN)
    assert ahead_behind(shop, base, head) == (1, 1)
    whole, empty = (Git(shop.path.with_name(name)) for name in ("whole.git", "empty.git"))
    for copy in (whole, empty):
        shutil.copytree(shop.path, copy.path)
    shutil.rmtree(empty.path / "objects")
    assert ahead_behind(empty, base, head) == (1, 1)
    assert is_mergeable(shop, base, head)  # writes the merged tree, which the copies lack
    for git in (shop, whole):
        assert git.read(squash_commit(git, base, head, "Two", ANN), "file") == b"two\n"


def test_git_is_no_part_of_the_group_that_a_terminal_kills(shop: Git) -> None:
    group = shop.line("-c", "alias.group=!cut -d' ' -f5 /proc/self/stat", "group")
    assert int(group) != os.getpgrp()


def test_a_name_means_the_commit_where_it_stands_now(shop: Git) -> None:
    first = write(shop, "main", "one\n")
    shop.run("tag", "--annotate", "--message", "T", "v1", extra={"GIT_COMMITTER_NAME": "A", "EMAIL": "a"})
    assert [shop.resolve(name) for name in ("main", "v1", "HEAD", "refs/heads/main", first)] == [first] * 5
    second = write(shop, "main", "two\n")
    assert [shop.resolve(name) for name in ("main", "v1", "HEAD", second)] == [second, first, second, second]
    assert [shop.read(name, "file") for name in (first, second, "main")] == [b"one\n", b"two\n", b"two\n"]
    assert shop.entries("main", "") == shop.entries(second, "") != shop.entries(first, "")
    other = Git(shop.path.with_name("other.git"))
    other.create("main")
    for come in (False, True):  # a commit that is not here yet is found once it is
        if come:
            other.run("fetch", "--quiet", str(shop.path), "main")
        assert other.resolve(second) == (second if come else None)
        assert other.read(second, "file") == (b"two\n" if come else None)


def test_files_of_any_name_are_written_and_none_outside_of_the_tree(shop: Git) -> None:
    odd = {'a "b" \\ c\nd/é': b"\0data\n", " lead ing ": b"", "gone": b"x", "...": b"\ndone\n"}
    first = shop.write_files("main", odd, "Odd\n\nM 100644 inline x", ANN)
    assert {path: shop.read(first, path) for path in odd} == odd
    assert (shop.commit(first).message, shop.commit(first).author) == ("Odd\n\nM 100644 inline x", ANN)
    second = shop.write_files("main", {"gone": None}, "Less", ANN)
    assert len(shop.entries(second, "")) == 3
    assert shop.commit(second).parents == (first,)
    for path in ("../up", "x/.GIT/config", "a//b", "/root", ".", "a/", "a\0b"):
        with pytest.raises(GitError, match="malformed"):
            shop.write_files("main", {path: b"x"}, "Bad", ANN)
