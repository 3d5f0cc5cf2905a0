"""Whatever is wrong with a repository becomes a sentence for people; whatever is hostile in it stays
inside.
"""

import os
import shutil
from pathlib import Path

import pytest

from ledger.ids import CardId
from ledger.states import Ending
from runner.errors import WorkspaceError
from runner.workspaces import load
from runner.workspaces.contract import Tenancy
from tests.runner.flows.test_story import EDIT, FINISH, PLAN
from tests.runner.world import BRANCH, World, checks, git, make_world


@pytest.fixture(autouse=True)
def a_simple_story(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, FINISH])


def failure(world: World) -> str:
    ended = world.ended()
    assert (ended.ending, ended.reason) == (Ending.FAILED, "repository"), ended
    return ended.detail


def test_a_repository_without_commits_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    world = make_world(tmp_path / "empty")
    world.run(world.spec())
    assert "no commits yet" in failure(world)


def test_a_missing_base_branch_is_named(world: World) -> None:
    world.run(world.spec(base_branch="trunk"))
    assert "has no branch trunk" in failure(world)


def test_a_repository_that_is_gone_is_named(world: World) -> None:
    shutil.rmtree(world.origin)
    world.run(world.spec())
    assert "cannot be reached" in failure(world)


def test_a_branch_that_a_rule_protects_is_named_beside_what_the_agent_reported(world: World) -> None:
    hook = world.origin / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho 'GH006: Protected branch update failed' >&2\nexit 1\n")
    hook.chmod(0o755)
    world.run(world.spec())
    assert "GH006" in failure(world)
    assert world.only("FinalReported").done == "It greets."


def moving(world: World, theirs: str, *, each_time: bool = False) -> None:
    """Let the branch move on GitHub between Cardinal's look and its push: once, or whenever it pushes."""
    git(world.origin, "update-ref", f"refs/heads/{BRANCH}", f"{theirs}^")
    hook = world.origin / "hooks" / "update"
    more = f"$(git commit-tree -p {BRANCH} -m again {BRANCH}^{{tree}})" if each_time else theirs
    who = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b"
    hook.write_text(f"#!/bin/sh\n{who}\ngit update-ref refs/heads/{BRANCH} {more} >&2\nexit 0\n")
    hook.chmod(0o755)


def test_what_people_push_in_the_last_moment_is_taken_in_and_checked_again(world: World) -> None:
    world.commit({"theirs.txt": "mine\n"}, BRANCH)
    moving(world, world.commit({"theirs.txt": "more\n"}, BRANCH))
    world.run(world.spec(validation=checks(full=["cat theirs.txt"])))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert [check.tail for check in world.of("CommandChecked")] == ["mine", "more"]
    assert (world.show("theirs.txt"), world.show("hello.txt")) == ("more", "Hello")
    assert world.of("ValidationEnded")[-1].head == world.only("BranchPushed").head == world.head()


def test_a_branch_that_moves_whenever_cardinal_pushes_is_left_alone(world: World) -> None:
    world.commit({"theirs.txt": "mine\n"}, BRANCH)
    moving(world, world.commit({"theirs.txt": "more\n"}, BRANCH), each_time=True)
    world.run(world.spec())
    assert "it has new commits on GitHub" in failure(world)
    assert git(world.origin, "log", "-1", "--format=%s", BRANCH) == "again"


@pytest.mark.parametrize("resolved", [True, False])
def test_a_push_that_conflicts_is_a_question_and_nothing_of_theirs_is_lost(
    world: World, resolved: bool
) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, {"ask": {"question": "Well?"}}, FINISH])
    spec = world.spec()
    world.run(spec)
    theirs = world.commit({"hello.txt": "Theirs\n"}, BRANCH)
    assert world.answer(spec, "Yes").why == "question"
    asked = world.only("QuestionAsked", newest=True)
    assert (asked.asker, asked.choices) == ("rebase", ("I resolved it: try again", "Stop here"))
    assert "hello.txt" in asked.text
    if resolved:
        world.commit({"hello.txt": "A shop.\n"}, BRANCH)
        git(world.origin, "update-ref", f"refs/heads/{BRANCH}", world.head("main"))
    world.answer(spec, "1" if resolved else "2")
    assert world.ended().ending is (Ending.SUCCEEDED if resolved else Ending.CANCELLED), world.ended()
    assert world.head() == (world.of("BranchPushed")[-1].head if resolved else theirs)


def test_what_people_push_while_a_question_is_open_is_taken_in(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, {"ask": {"question": "Well?"}}, FINISH])
    spec = world.spec()
    world.run(spec)
    theirs = world.commit({"theirs.txt": "mine\n"}, BRANCH)
    world.answer(spec, "Yes")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    git(world.origin, "merge-base", "--is-ancestor", theirs, BRANCH)
    assert world.show("hello.txt") == "Hello"


def test_what_people_pushed_to_the_branch_is_taken_in_at_the_start(world: World) -> None:
    world.commit({"theirs.txt": "mine\n"}, BRANCH)
    world.run(world.spec())
    assert world.ended().ending is Ending.SUCCEEDED
    assert (world.show("theirs.txt"), world.show("hello.txt")) == ("mine", "Hello")


def test_a_branch_that_fell_behind_is_rebased(world: World) -> None:
    world.run(world.spec())
    world.commit({"new.txt": "newer\n"})
    world.scenario(revise=[{"edit": {"path": "hello.txt", "content": "Again\n"}}, FINISH])
    world.lease = None
    world.run(world.spec(run_id="r2", kind="revision"))
    assert world.ended("r2").ending is Ending.SUCCEEDED
    assert world.show("new.txt") == "newer"
    git(world.origin, "merge-base", "--is-ancestor", "main", BRANCH)


def test_a_rebase_that_conflicts_is_a_question_and_people_decide(world: World) -> None:
    world.run(world.spec())
    world.commit({"hello.txt": "Theirs\n"})
    world.scenario(revise=[{"edit": {"path": "other.txt", "content": "x\n"}}, FINISH])
    world.lease = None
    spec = world.spec(run_id="r2", kind="revision")
    assert world.run(spec).why == "question"
    asked = world.only("QuestionAsked", "r2")
    assert asked.asker == "rebase"
    assert "hello.txt" in asked.text
    world.answer(spec, "Work on without the rebase")
    assert world.ended("r2").ending is Ending.SUCCEEDED
    assert world.show("hello.txt") == "Hello"


def test_two_runs_on_one_branch_never_lose_each_others_commits(world: World) -> None:
    world.scenario(plan=[PLAN], work=[{"edit": {"path": "a.txt", "content": "a\n"}}, FINISH])
    world.run(world.spec())
    world.scenario(plan=[PLAN], work=[{"edit": {"path": "b.txt", "content": "b\n"}}, FINISH])
    world.lease = None
    world.run(world.spec(run_id="r2", card_id="PVTI_2"))  # another card: a workspace of its own
    assert world.ended("r2").ending is Ending.SUCCEEDED
    assert (world.show("a.txt"), world.show("b.txt")) == ("a", "b")


HOSTILE = r"""
set -e
touch="touch PLACE"
printf '#!/bin/sh\n%s\n' "$touch" > evil; chmod +x evil
for hook in post-checkout pre-commit post-commit pre-push post-rewrite reference-transaction pre-auto-gc; do
  cp evil .git/hooks/$hook
done
git config core.fsmonitor "$touch; false"
git config core.sshCommand "$touch"
git config core.pager "$touch"
git config core.hooksPath .git/hooks
git config diff.external "$touch"
git config filter.evil.clean "$touch; cat"
git config filter.evil.smudge "$touch; cat"
git config filter.evil.required true
git config alias.pack-objects '!'"$touch"
git config uploadpack.packObjectsHook "$touch"
git config credential.helper '!'"$touch"
git config url.ext::"$touch".insteadOf https://
echo '*.txt filter=evil diff=evil' > .gitattributes
ln -s OUTSIDE/secret stolen
ln -s OUTSIDE linked
printf '[submodule "x"]\n path = x\n url = ext::%s\n' "$touch" > .gitmodules
"""


def test_a_hostile_repository_runs_nothing_on_the_host(world: World, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("top secret")
    script = HOSTILE.replace("PLACE", str(outside / "pwned")).replace("OUTSIDE", str(outside))
    world.scenario(plan=[PLAN], work=[EDIT, {"run": script}, FINISH])
    world.run(world.spec())
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert sorted(os.listdir(outside)) == ["secret"]
    assert git(world.origin, "cat-file", "-p", f"{BRANCH}:stolen") == str(outside / "secret")
    assert "top secret" not in git(world.origin, "log", "-p", BRANCH)


def test_an_export_that_is_a_link_to_the_host_is_not_followed(world: World, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("top secret")
    workspace = load("local").open(world.places, Tenancy(CardId("C")))
    (world.places.workspaces / "C" / "out" / "branch.pack").symlink_to(tmp_path / "secret")
    with pytest.raises(WorkspaceError):
        workspace.collect("branch.pack", tmp_path / "copy", 1000)
    os.mkfifo(world.places.workspaces / "C" / "out" / "pipe")
    with pytest.raises(WorkspaceError, match="no plain file"):
        workspace.collect("pipe", tmp_path / "copy", 1000)


EVIL_TREE = """
import subprocess
def git(*words, given=b""):
    done = subprocess.run(("git", *words), input=given, capture_output=True, check=True)
    return done.stdout.decode().strip()
blob = git("hash-object", "-w", "--stdin", given=b"[core]")
tree = b"100644 .git\\0" + bytes.fromhex(blob)
tree = git("hash-object", "-t", "tree", "-w", "--stdin", "--literally", given=tree)
git("update-ref", "HEAD", git("commit-tree", "-p", "HEAD", "-m", "evil", tree))
"""


def test_unsound_objects_are_refused(world: World) -> None:
    write = {"edit": {"path": "../home/evil.py", "content": EVIL_TREE}}
    world.scenario(plan=[PLAN], work=[write, {"run": "python3 ../home/evil.py"}, FINISH])
    world.run(world.spec())
    assert "not sound" in failure(world)
    assert world.of("BranchPushed") == []
