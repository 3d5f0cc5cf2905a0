"""A branch that people write anew on GitHub: it is the truth, and what they dropped stays gone."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.states import Ending
from runner.run.run_spec import RunSpec
from tests.runner.flows.test_story import EDIT, FINISH, PLAN
from tests.runner.world import BRANCH, CARD, COMMITTER, World, copy_world, git

DROP_LAST = "git reset -q --hard HEAD~1"
SQUASH = "git reset -q --soft origin/main && git commit -q -m 'All in one'"


def edit(path: str, content: str) -> list[object]:
    """Return the steps that write a file and commit it."""
    return [{"edit": {"path": path, "content": content}}, {"commit": f"Write {path}"}]


def rewrite(world: World, script: str) -> str:
    """Write the branch anew as a person does, and push it by force; return its head."""
    clone = world.root / f"rewriter-{len(list(world.root.glob('rewriter-*')))}"
    git(world.root, "clone", "--quiet", "--branch", BRANCH, str(world.origin), str(clone))
    git(clone, "-c", f"alias.do=!{script}", "do")
    git(clone, "push", "--quiet", "--force", "origin", BRANCH)
    return git(clone, "rev-parse", "HEAD")


def next_run(world: World, run_id: str, *steps: object) -> RunSpec:
    """Return the order of a revision in the same place."""
    world.scenario(revise=list(steps))
    world.lease = None
    return world.spec(run_id=run_id, kind="revision")


def names(world: World) -> list[str]:
    return git(world.origin, "ls-tree", "--name-only", BRANCH).split()


def authors(world: World) -> list[str]:
    return git(world.origin, "log", "--reverse", "--format=%an", f"main..{BRANCH}").splitlines()


def said(world: World, run_id: str) -> list[str]:
    """Return what the run told people about a branch that was rewritten."""
    return [one.text for one in world.of("Progressed", run_id) if "was rewritten" in one.text]


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory, template: Path) -> Path:
    """Return the folder of a world where an agent published two commits, both about the same file."""
    world = copy_world(template, tmp_path_factory.mktemp("begun"))
    world.scenario(plan=[PLAN], work=[*edit("a.txt", "one\n"), *edit("a.txt", "two\n"), FINISH])
    world.run(world.spec())
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    world.engine.dispose()
    return world.root


@pytest.fixture
def world(tmp_path: Path, begun: Path) -> Iterator[World]:
    """Return a copy of that world: its place, its mirror, its ledger and GitHub."""
    new_world = copy_world(begun, tmp_path)
    yield new_world
    new_world.engine.dispose()


@pytest.fixture
def published(world: World) -> str:
    """Return what Cardinal pushed."""
    return world.head()


def test_a_commit_that_people_dropped_does_not_come_back(world: World, published: str) -> None:
    left = rewrite(world, DROP_LAST)
    world.run(next_run(world, "r2", EDIT, FINISH))
    assert world.ended("r2").ending is Ending.SUCCEEDED, world.ended("r2")
    assert (world.show("a.txt"), world.show("hello.txt")) == ("one", "Hello")
    assert git(world.origin, "rev-parse", f"{BRANCH}^") == left
    (line,) = said(world, "r2")
    assert f"from {left[:12]}" in line
    assert f"{published[:12]}" in line


def test_commits_that_people_squashed_are_no_conflict(world: World, published: str) -> None:
    squashed = rewrite(world, SQUASH)
    world.run(next_run(world, "r2", EDIT, FINISH))
    assert world.ended("r2").ending is Ending.SUCCEEDED, world.of("QuestionAsked", "r2")
    assert authors(world) == ["Ann", COMMITTER.name]
    assert git(world.origin, "rev-parse", f"{BRANCH}^") == squashed
    assert world.show("a.txt") == "two"


def test_work_that_is_not_published_yet_is_put_on_what_people_left(world: World, published: str) -> None:
    world.commit({"base.txt": "Moved on\n"})  # so that the failing run has the dropped commit rebased
    loose = {"edit": {"path": "b.txt", "content": "b\n"}}
    world.run(next_run(world, "r2", *edit("kept.txt", "kept\n"), loose))
    assert world.ended("r2").reason == "gave_up", world.ended("r2")
    left = rewrite(world, DROP_LAST)
    world.run(next_run(world, "r3", EDIT, FINISH))
    assert world.ended("r3").ending is Ending.SUCCEEDED, world.ended("r3")
    assert world.show("a.txt") == "one"
    assert names(world) == ["README.md", "a.txt", "b.txt", "base.txt", "hello.txt", "kept.txt"]
    assert authors(world).count("Ann") == 0
    assert len(said(world, "r3")) == 1
    assert left[:12] in said(world, "r3")[0]


def test_a_persons_commit_that_only_an_unpublished_run_took_in_does_not_come_back(
    world: World, published: str
) -> None:
    theirs = world.commit({"theirs.txt": "Hi\n"}, BRANCH)
    world.run(next_run(world, "r2", {"say": "I give up"}))
    assert world.ended("r2").reason == "gave_up", world.ended("r2")
    assert rewrite(world, DROP_LAST) == published
    world.run(next_run(world, "r3", EDIT, FINISH))
    assert world.ended("r3").ending is Ending.SUCCEEDED, world.ended("r3")
    assert names(world) == ["README.md", "a.txt", "hello.txt"]
    assert theirs[:12] in said(world, "r3")[0]


def test_a_branch_that_is_written_anew_while_a_question_is_open_is_taken_over(
    world: World, published: str
) -> None:
    world.commit({"base.txt": "Moved on\n"})  # the run works on it, and its commit is no work of the run
    spec = next_run(world, "r2", EDIT, {"ask": {"question": "Well?"}}, FINISH)
    assert world.run(spec).why == "question"
    squashed = rewrite(world, SQUASH.replace("origin/main", "HEAD~2"))
    world.answer(spec, "Yes")
    assert world.ended("r2").ending is Ending.SUCCEEDED, world.ended("r2")
    assert git(world.origin, "rev-parse", f"{BRANCH}^") == squashed
    assert (world.show("a.txt"), world.show("hello.txt")) == ("two", "Hello")


def test_a_branch_that_is_written_anew_in_the_last_moment_is_taken_over_and_no_push_is_lost(
    world: World, published: str
) -> None:
    squashed = rewrite(world, SQUASH)
    git(world.origin, "update-ref", f"refs/heads/{BRANCH}", published)
    hook = world.origin / "hooks" / "update"
    hook.write_text(f"#!/bin/sh\nrm hooks/update; git update-ref refs/heads/{BRANCH} {squashed} >&2\n")
    hook.chmod(0o755)
    world.run(next_run(world, "r2", EDIT, FINISH))
    assert world.ended("r2").ending is Ending.SUCCEEDED, world.ended("r2")
    assert git(world.origin, "rev-parse", f"{BRANCH}^") == squashed
    assert len(world.of("BranchPushed", "r2")) == 1


def test_unpublished_work_that_people_contradict_is_a_question_and_what_they_dropped_stays_gone(
    world: World, published: str
) -> None:
    world.run(next_run(world, "r2", *edit("a.txt", "three\n")))
    rewrite(world, DROP_LAST)
    spec = next_run(world, "r3", EDIT, FINISH)
    assert world.run(spec).why == "question"
    assert "a.txt" in world.only("QuestionAsked", "r3").text
    assert said(world, "r3") == []
    git(world.origin, "update-ref", f"refs/heads/{BRANCH}", published)
    world.answer(spec, "1")
    assert world.ended("r3").ending is Ending.SUCCEEDED, world.ended("r3")
    assert world.show("a.txt") == "three"


def test_nothing_is_said_of_what_people_push_on_top_nor_of_cardinals_own_rebase(
    world: World, published: str
) -> None:
    world.commit({"base.txt": "Moved on\n"})
    world.run(next_run(world, "r2", EDIT, FINISH))
    assert world.head() != published
    (world.places.workspaces / CARD / "stands").write_text(published)  # as if it died just behind the push
    theirs = world.commit({"theirs.txt": "Hi\n"}, BRANCH)
    world.run(next_run(world, "r3", {"edit": {"path": "c.txt", "content": "c\n"}}, FINISH))
    assert world.ended("r3").ending is Ending.SUCCEEDED, world.ended("r3")
    assert git(world.origin, "rev-parse", f"{BRANCH}^") == theirs
    assert said(world, "r2") == said(world, "r3") == []


def test_a_new_place_says_nothing_and_begins_where_github_stands(world: World, published: str) -> None:
    left = rewrite(world, DROP_LAST)
    shutil.rmtree(world.places.workspaces / CARD)
    world.run(next_run(world, "r2", EDIT, FINISH))
    assert world.ended("r2").ending is Ending.SUCCEEDED, world.ended("r2")
    assert git(world.origin, "rev-parse", f"{BRANCH}^") == left
    assert said(world, "r2") == []
