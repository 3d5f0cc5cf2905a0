"""What people pushed to the branch: it stays on it, and theirs, whatever the agent does with its history."""

from dataclasses import replace

import pytest

from ledger.states import Ending
from tests.runner.flows.test_story import EDIT, FINISH, PLAN
from tests.runner.phases.test_stages import FINISH as STAGED
from tests.runner.phases.test_stages import IMPLEMENT, NOTE, NOTES, VERIFY, go
from tests.runner.world import BRANCH, COMMITTER, World, git

COPY = (
    'GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_AUTHOR_DATE="$(git log -1 --format=%aI)"'
    ' git commit -q --allow-empty -m "By a person"'
)


def authors(world: World) -> list[str]:
    """Return whose the commits of the branch are, the oldest first."""
    return git(world.origin, "log", "--reverse", "--format=%an", f"main..{BRANCH}").splitlines()


@pytest.mark.parametrize("behind", [False, True])
def test_peoples_commits_stay_theirs_and_one_that_looks_like_theirs_is_cardinals(
    world: World, behind: bool
) -> None:
    world.commit({"theirs.txt": "Hi\n"}, BRANCH)
    if behind:
        world.commit({"base.txt": "Moved on\n"})
    world.scenario(plan=[PLAN], work=[{"run": COPY}, EDIT, {"commit": "Hello"}, FINISH])
    world.run(world.spec())
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert authors(world) == ["Ann", COMMITTER.name, COMMITTER.name]


def test_a_run_that_goes_on_puts_its_rebased_work_on_nothing_twice(world: World) -> None:
    world.commit({"theirs.txt": "Hi\n"}, BRANCH)
    world.commit({"base.txt": "Moved on\n"})
    world.scenario(plan=[PLAN], work=[{"ask": {"question": "Which?"}}, EDIT, {"commit": "Hello"}, FINISH])
    spec = world.spec()
    world.run(spec)
    world.answer(spec, "Hello")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert authors(world) == ["Ann", COMMITTER.name]


def test_what_people_push_while_a_stage_that_only_reads_is_open_stays(world: World) -> None:
    world.commit({"theirs.txt": "Hi\n"}, BRANCH)
    ask = {"ask": {"question": "Which?"}}
    stages = {"implement": [EDIT, go("verify")], "verify": [ask, go("note")], "note": [NOTES, STAGED]}
    world.scenario(plan=[PLAN], stages=stages)
    litter = "touch litter; git add litter; git -c user.name=x -c user.email=x@y commit -qm x"
    spec = world.spec(stages=(IMPLEMENT, replace(VERIFY, cleanup=(litter,)), NOTE))
    assert world.run(spec).why == "question"
    more = world.commit({"theirs.txt": "Hi again\n"}, BRANCH)
    world.answer(spec, "Hello")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert git(world.origin, "merge-base", more, BRANCH) == more
    names = git(world.origin, "ls-tree", "--name-only", BRANCH).split()
    assert names == ["NOTES.md", "README.md", "hello.txt", "theirs.txt"]
    assert world.of("StageLeft")[1].files_changed == 0


ANN, OWN = "Ann <ann@example.org>", f"{COMMITTER.name} <{COMMITTER.email}>"


@pytest.mark.parametrize(
    ("message", "author", "maker"),
    [
        ("Hi", ANN, ANN),
        ("Hi\n\nCardinal-Run: r7", ANN, ANN),
        ("Hi\n\nCardinal-Run: r7\nCardinal-Card: #12", OWN, "r7"),
        ("Hi", OWN, OWN),
    ],
)
def test_a_conflict_on_the_branch_names_who_made_the_commits(
    world: World, message: str, author: str, maker: str
) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, {"commit": "Hello"}, {"ask": {"question": "Which?"}}, FINISH])
    spec = world.spec()
    assert world.run(spec).why == "question"
    world.commit({"hello.txt": "Another\n"}, BRANCH, message, author)
    world.answer(spec, "Hello")
    asked = world.only("QuestionAsked", newest=True)
    assert f"{BRANCH} has new commits on GitHub by {maker}, and the run changed the same" in asked.text
