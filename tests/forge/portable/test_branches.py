"""Branches of the board and of the person are brought together; tree, index and settings stay as they are."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.portable.branches import Step, step_of
from tests.forge.portable.conftest import Portable, besides_git
from tests.runner.world import git

# A history: each commit has all that its parents have. `left` and `right` went apart.
HISTORY = {"old": "old", "left": "left old", "right": "right old", "both": "both left right old"}


def is_newer(one: str, other: str) -> bool:
    return other in HISTORY[one].split()


@pytest.mark.parametrize(
    ("ours", "theirs", "last", "step"),
    [
        ("old", "old", "", Step.NOTHING),
        ("left", "old", "old", Step.EXPORT),
        ("left", "", "", Step.EXPORT),
        ("left", "", "left", Step.NOTHING),  # the person removed it
        ("both", "", "left", Step.EXPORT),  # and there is more since
        ("old", "left", "old", Step.IMPORT),
        ("both", "left", "", Step.EXPORT),
        ("left", "right", "old", Step.APART),
        ("left", "old", "left", Step.IMPORT),  # the person took it back
        ("left", "right", "left", Step.IMPORT),  # the person rewrote it
        ("right", "left", "left", Step.EXPORT),  # rewritten on the board, and nobody touched it here
        ("", "left", "left", Step.REMOVE),
        ("", "both", "left", Step.NOTHING),  # removed on the board, but there is more here
        ("", "left", "", Step.NOTHING),  # a branch of the person's own
    ],
)
def test_what_is_done_about_a_branch(ours: str, theirs: str, last: str, step: Step) -> None:
    assert step_of(ours, theirs, last, is_newer) is step


@given(*(st.sampled_from(["", *HISTORY]) for _ in range(3)))
def test_no_step_loses_commits_of_the_person(ours: str, theirs: str, last: str) -> None:
    step = step_of(ours, theirs, last, is_newer)
    if step in (Step.EXPORT, Step.REMOVE) and theirs:
        assert theirs == last or is_newer(ours, theirs)
    if step is Step.IMPORT:
        assert ours == last or is_newer(theirs, ours)


def test_finished_work_is_a_branch_here_and_goes_when_the_board_removes_it(portable: Portable) -> None:
    before = besides_git(portable.mine)
    commit = portable.work("cardinal/1-say-hello", "Hello.")
    portable.branches.bring_together()
    assert portable.heads()["cardinal/1-say-hello"] == commit
    git(portable.mine, "pack-refs", "--all")
    commit = portable.work("cardinal/1-say-hello", "Hello again.")
    portable.branches.bring_together()
    assert portable.heads()["cardinal/1-say-hello"] == commit
    git(portable.ours, "update-ref", "-d", "refs/heads/cardinal/1-say-hello")
    portable.branches.bring_together()
    assert portable.heads().keys() == {"main"}
    assert besides_git(portable.mine) == before


def test_done_moves_the_branch_that_is_not_checked_out(portable: Portable) -> None:
    git(portable.mine, "switch", "--quiet", "--create", "elsewhere")
    portable.work("cardinal/1", "Hello.")
    merged = portable.merge("cardinal/1")
    before = besides_git(portable.mine)
    portable.branches.bring_together()
    assert portable.heads()["main"] == merged
    assert "cardinal/main" not in portable.heads()
    assert (portable.said, besides_git(portable.mine)) == ([], before)


@pytest.mark.parametrize(
    "place", ["here", "in another work tree", "in the middle of a rebase", "in the middle of a bisect"]
)
def test_where_it_is_checked_out_the_work_waits_beside_it_and_the_person_is_told_how_to_take_it(
    portable: Portable, tmp_path: Path, place: str
) -> None:
    if place == "in another work tree":
        git(portable.mine, "switch", "--quiet", "--create", "elsewhere")
        git(portable.mine, "worktree", "add", "--quiet", str(tmp_path / "tr\nee"), "main")
    elif place == "in the middle of a rebase":
        git(portable.mine, "switch", "--quiet", "--detach")
        (portable.mine / ".git/rebase-merge").mkdir()
        (portable.mine / ".git/rebase-merge/head-name").write_text("refs/heads/main\n")
        (portable.mine / ".git/rebase-apply").mkdir()
        (portable.mine / ".git/rebase-apply/head-name").write_bytes(b"refs/heads/caf\xe9\n")
    elif place == "in the middle of a bisect":
        for text in ("first", "second", "third"):
            portable.commit(text)
        portable.branches.bring_together()
        git(portable.mine, "bisect", "start", "HEAD", "HEAD~3")
    portable.work("cardinal/1", "Hello.")
    merged, before = portable.merge("cardinal/1"), besides_git(portable.mine)
    was = portable.heads()["main"]
    for _ in range(2):
        portable.branches.bring_together()
    assert (portable.heads()["main"], portable.heads()["cardinal/main"]) == (was, merged)
    assert besides_git(portable.mine) == before
    (said,) = portable.said
    assert "`git merge --ff-only cardinal/main`" in said
    if place == "here":
        git(portable.mine, "merge", "--quiet", "--ff-only", "cardinal/main")
        portable.branches.bring_together()
        assert portable.heads().keys() == {"main", "cardinal/1"}


def test_a_branch_that_the_person_has_removed_does_not_come_back_with_the_next_work(
    portable: Portable,
) -> None:
    git(portable.mine, "checkout", "--quiet", "-b", "other")
    portable.branches.bring_together()
    git(portable.mine, "branch", "--delete", "--force", "main")
    commit = portable.work("cardinal/1-x", "Hello.")
    portable.merge("cardinal/1-x")
    portable.branches.bring_together()
    assert {name for name in portable.heads() if name.endswith("main")} == {"cardinal/main"}
    said = "merged work for main waits in cardinal/main: main is gone here, so take it with `git branch main"
    assert said in portable.said[-1]
    git(portable.mine, "branch", "main", "cardinal/main")
    portable.branches.bring_together()
    assert (portable.heads()["main"], "cardinal/main" in portable.heads()) == (commit, False)


def test_what_the_person_commits_is_on_the_board_and_a_push_of_theirs(portable: Portable) -> None:
    commit = portable.commit("mine")
    portable.branches.bring_together()
    assert git(portable.ours, "rev-parse", "main") == commit
    work = portable.work("cardinal/1", "Hello.")
    portable.branches.bring_together()
    git(portable.mine, "switch", "--quiet", "cardinal/1")
    more = portable.commit("a remark of mine")
    portable.branches.bring_together()
    assert git(portable.ours, "rev-parse", "cardinal/1") == more
    assert git(portable.ours, "rev-parse", "cardinal/1~") == work


def test_work_of_both_is_never_thrown_away(portable: Portable) -> None:
    portable.branches.bring_together()
    portable.work("cardinal/1", "Hello.")
    merged = portable.merge("cardinal/1")
    mine = portable.commit("mine meanwhile")
    portable.branches.bring_together()
    assert (portable.heads()["main"], portable.heads()["cardinal/main"]) == (mine, merged)
    assert "`git merge cardinal/main`" in portable.said[0]
    git(portable.mine, "merge", "--quiet", "--no-edit", "cardinal/main")
    portable.branches.bring_together()
    assert git(portable.ours, "rev-parse", "main") == portable.heads()["main"]
    assert "cardinal/main" not in portable.heads()


def test_who_commits_while_work_waits_is_told_the_command_that_takes_it_now(portable: Portable) -> None:
    portable.work("cardinal/1-hello", "hello")
    portable.merge("cardinal/1-hello")
    portable.branches.bring_together()
    portable.commit("mine")
    for _ in range(2):
        portable.branches.bring_together()
    assert len(portable.said) == 2
    assert "`git merge cardinal/main`" in portable.said[1]


def test_no_hook_of_the_person_runs(portable: Portable) -> None:
    for name in ("reference-transaction", "post-checkout", "pre-receive", "update"):
        hook = portable.mine / ".git/hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {portable.mine}/ran-{name}\n")
        hook.chmod(0o755)
    portable.work("cardinal/1", "Hello.")
    portable.branches.bring_together()
    assert "cardinal/1" in portable.heads()
    assert not [*portable.mine.glob("ran-*")]


def test_whichever_step_a_kill_comes_after_the_next_look_ends_the_same(portable: Portable) -> None:
    commit = portable.work("cardinal/1", "Hello.")
    portable.branches.bring_together()
    for lost in itertools.chain.from_iterable(
        itertools.combinations(portable.branches.last, n) for n in range(3)
    ):
        for ref in lost:  # the branch was moved, and the forge's file not written
            portable.branches.last.pop(ref, None)
        portable.branches.bring_together()
        assert portable.heads()["cardinal/1"] == commit == portable.branches.last["refs/heads/cardinal/1"]


@pytest.mark.parametrize("checked_out", [True, False])
def test_a_person_who_takes_commits_back_has_the_last_word(portable: Portable, checked_out: bool) -> None:
    portable.commit("too early")
    portable.branches.bring_together()
    back = git(portable.mine, "rev-parse", "main~")
    if checked_out:
        git(portable.mine, "reset", "--quiet", "--hard", back)
    else:
        git(portable.mine, "switch", "--quiet", "--create", "elsewhere")
        git(portable.mine, "branch", "--quiet", "--force", "main", back)
    portable.branches.bring_together()
    assert (portable.heads()["main"], git(portable.ours, "rev-parse", "main")) == (back, back)
    assert ("cardinal/main" in portable.heads(), portable.said) == (False, [])


@pytest.mark.parametrize("where", ["checked out", "elsewhere"])
def test_what_the_person_commits_on_the_branch_where_work_waits_stays(portable: Portable, where: str) -> None:
    portable.work("cardinal/1", "Hello.")
    merged = portable.merge("cardinal/1")
    portable.branches.bring_together()
    git(portable.mine, "switch", "--quiet", "cardinal/main")
    mine = portable.commit("a remark of mine") if where == "elsewhere" else merged
    git(portable.mine, "switch", "--quiet", "main" if where == "elsewhere" else "cardinal/main")
    git(portable.mine, "worktree", "add", "--quiet", str(portable.root / "tree"), "main", "--force")
    more = portable.work("cardinal/2", "More.")
    portable.merge("cardinal/2")
    before = besides_git(portable.mine)
    for _ in range(2):
        portable.branches.bring_together()
    assert portable.heads()["cardinal/main"] == mine != more
    assert besides_git(portable.mine) == before
    assert "cardinal/main" in portable.said[-1]


def test_a_branch_that_the_person_has_named_like_the_waiting_one_stays(portable: Portable) -> None:
    git(portable.mine, "branch", "cardinal/main")
    portable.branches.bring_together()
    assert "cardinal/main" in portable.heads()


def test_the_branch_behind_a_symbolic_one_is_not_moved(portable: Portable) -> None:
    git(portable.mine, "branch", "--move", "main", "trunk")
    git(portable.mine, "symbolic-ref", "refs/heads/main", "refs/heads/trunk")
    portable.work("cardinal/1", "Hello.")
    merged, before, trunk = (
        portable.merge("cardinal/1"),
        besides_git(portable.mine),
        portable.heads()["trunk"],
    )
    portable.branches.bring_together()
    assert (portable.heads()["trunk"], portable.heads()["cardinal/main"]) == (trunk, merged)
    assert besides_git(portable.mine) == before


def test_a_copy_that_is_being_deleted_takes_no_branch_along(portable: Portable) -> None:
    git(portable.mine, "switch", "--quiet", "--create", "elsewhere")
    portable.work("cardinal/1", "Hello.")
    portable.branches.bring_together()
    for ref in ("main", "cardinal/1"):
        git(portable.ours, "update-ref", "-d", f"refs/heads/{ref}")
    portable.branches.bring_together()
    assert portable.heads().keys() == {"main", "elsewhere", "cardinal/1"}


def test_a_branch_that_git_refuses_is_said_once(portable: Portable) -> None:
    git(portable.mine, "branch", "cardinal")
    portable.work("cardinal/1", "Hello.")
    portable.merge("cardinal/1")
    for _ in range(2):
        portable.branches.bring_together()
    assert len(portable.said) == 2
    assert all(
        "cannot be written" in said and "'refs/heads/cardinal' exists" in said for said in portable.said
    )


def test_graft_and_replacement_are_no_history(portable: Portable) -> None:
    portable.branches.bring_together()
    git(portable.mine, "switch", "--quiet", "--create", "elsewhere")
    mine = portable.commit("mine")
    git(portable.mine, "branch", "--force", "main", mine)
    work = portable.work("cardinal/1", "Hello.")
    portable.branches.bring_together()
    portable.merge("cardinal/1")
    git(portable.mine, "replace", "--graft", work, mine)
    mine = portable.commit("more")
    git(portable.mine, "branch", "--force", "main", mine)
    git(portable.mine, "replace", "--graft", "--force", work, mine)
    portable.branches.bring_together()
    assert portable.heads()["main"] == mine


def test_tags_of_the_person_outlive_their_own_pruning(portable: Portable) -> None:
    for name in ("fetch.prune", "fetch.pruneTags", "remote.pushDefault", "fetch.all"):
        git(portable.mine, "config", name, "true")
    git(portable.mine, "tag", "mine")
    git(portable.mine, "update-ref", "refs/remotes/origin/main", "main")
    portable.work("cardinal/1", "Hello.")
    portable.branches.bring_together()
    assert "cardinal/1" in portable.heads()
    assert git(portable.mine, "for-each-ref", "refs/tags", "refs/remotes").count("\n") == 1
