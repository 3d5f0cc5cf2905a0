"""A finished branch is put on a newer base without an agent; what people pushed is never lost."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from ledger.errors import StaleClaimError
from ledger.events.run import CHECK
from ledger.log import event_store
from ledger.queue import leases
from runner.run.run_spec import Authorship, Committer, RunSpec
from runner.supervisor import execute_run
from tests.runner.world import BRANCH, COMMITTER, FileRemote, World, checks, git, make_world

BASE = "def greet():\n    return 'hello'\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Return a world with a branch of one commit by a person, and a base that moved on since."""
    new_world = make_world(tmp_path, files={"app.py": BASE})
    new_world.commit({"hello.txt": "hello\n"}, BRANCH, "Say hello")
    new_world.commit({"other.txt": "other\n"}, message="Something else")
    return new_world


def rebasing(world: World) -> RunSpec:
    return world.spec(
        kind=CHECK, rebases=True, validation=checks(full=("test -f hello.txt -a -f other.txt",))
    )


@dataclass(frozen=True, slots=True)
class Interrupted(FileRemote):
    """Lets something happen right before the push."""

    before_push: Callable[[], object] = field(default=lambda: None)

    def git_environment(self):  # type: ignore[no-untyped-def]
        calls.append(1)
        if len(calls) == PUSH:
            self.before_push()
        return FileRemote.git_environment(self)


def carry_out(world: World, spec: RunSpec, before_push: Callable[[], object]) -> None:
    calls.clear()
    claimed, log = world.claim(spec)
    execute_run(claimed, log, Interrupted(str(world.origin), before_push=before_push), world.clock)


calls: list[int] = []
PUSH = 2  # the first git command fetches


def test_the_branch_stands_on_the_base_with_its_authors_and_is_checked_there(world: World) -> None:
    before, base = world.head(), world.head("main")
    ended = world.run(rebasing(world))
    assert str(getattr(ended, "ending", "")) == "succeeded"
    event = world.only("BranchRebased")
    assert (event.before, event.after, event.base, event.same) == (before, world.head(), base, True)
    assert git(world.origin, "log", "-1", "--format=%an|%s|%P", BRANCH) == f"Ann|Say hello|{base}"
    assert [(it.head, it.base, it.passed) for it in world.of("ValidationEnded")] == [
        (world.head(), base, True)
    ]


def test_on_its_base_already_it_is_only_checked(world: World) -> None:
    world.run(rebasing(world))
    before = world.head()
    world.run(world.spec(run_id="r2", kind=CHECK, rebases=True, validation=checks(full=("true",))))
    assert world.head() == before
    assert world.kinds("r2").count("BranchRebased") == 0


@pytest.mark.parametrize("theirs", ["conflict", "merge", "altered"])
def test_what_cannot_be_rebased_stays_and_says_what_to_do(world: World, theirs: str) -> None:
    if theirs == "conflict":
        world.commit({"other.txt": "mine\n"}, BRANCH)
    elif theirs == "altered":  # the base has half of a commit already
        world.commit({"half.txt": "half\n", "whole.txt": "whole\n"}, BRANCH, "Both")
        world.commit({"half.txt": "half\n"})
    else:
        head, main = world.head(), world.head("main")
        tree = git(world.origin, "merge-tree", "--write-tree", head, main)
        merge = git(world.origin, "commit-tree", tree, "-p", head, "-p", main, "-m", "Merge main")
        git(world.origin, "update-ref", f"refs/heads/{BRANCH}", merge)
        world.commit({"more.txt": "more\n"})
    before = world.head()
    world.run(rebasing(world))
    ended = world.ended()
    why = {
        "conflict": "both change other.txt",
        "merge": "it has merge commits",
        "altered": "by 'Ann <ann@example.org>' would be altered",
    }[theirs]
    assert (ended.reason, world.head()) == ("conflict", before)
    assert why in ended.detail
    assert f"merge main into {BRANCH} by hand" in ended.detail
    assert "ValidationEnded" not in world.kinds()


def test_what_cardinal_wrote_as_another_author_is_its_own_and_may_be_altered(world: World) -> None:
    world.commit({"half.txt": "half\n", "whole.txt": "whole\n"}, BRANCH, "Both")
    world.commit({"half.txt": "half\n"})
    other = Authorship(COMMITTER, past=(Committer("Ann", "ann@example.org"),))
    world.run(replace(rebasing(world), authorship=other))
    assert str(world.ended().ending) == "succeeded", world.ended()


def test_a_push_in_the_middle_is_not_overwritten(world: World) -> None:
    carry_out(world, rebasing(world), lambda: world.commit({"late.txt": "late\n"}, BRANCH, "Late"))
    assert git(world.origin, "log", "-1", "--format=%s", BRANCH) == "Late"
    assert world.ended().reason == "superseded"


def test_a_claim_that_dies_right_behind_its_push_is_made_good(world: World) -> None:
    spec, before = rebasing(world), world.head()

    def lose() -> None:
        with event_store.writing(world.engine) as db:
            assert world.lease is not None
            leases.release(db, world.lease)
        world.lease = None

    with pytest.raises(StaleClaimError):
        carry_out(world, spec, lose)
    assert world.head() != before
    assert "BranchRebased" not in world.kinds()
    world.again(spec, "reclaimed")
    assert (world.only("BranchRebased").before, world.only("BranchRebased").after) == (before, world.head())
    assert world.ended().ending == "succeeded"
