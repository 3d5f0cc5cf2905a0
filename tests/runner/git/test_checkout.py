"""Cardinal's own git commands in a workspace: few starts, and errors that name the step."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ledger.ids import CardId
from ledger.states import Ending
from runner import workspaces
from runner.errors import WorkspaceError
from runner.exec.child import finish
from runner.git import checkout_scripts
from runner.git.checkout import Checkout
from runner.git.mirror import Heads, Mirror
from runner.workspaces.contract import Tenancy, Workspace
from tests.runner.world import BRANCH, COMMITTER, REPOSITORY, World, checks, git

MAX_STARTS = 9  # a start is a container, which takes about as long as all git commands of a run
MAX_PROGRAMS = 33  # with those on the host; the workspace is measured once or twice
PLAN = {"plan": {"summary": "x", "steps": ["a"]}}
FINISH = {"finish": {"done": "Done."}}
WORK = [{"edit": {"path": "a.txt", "content": "a\n"}}, {"commit": "Add a"}, FINISH]


@pytest.fixture
def room(world: World) -> Iterator[Workspace]:
    opened = workspaces.load("local").open(world.places, Tenancy(CardId("x")))
    yield opened
    opened.destroy()


@pytest.fixture
def mirror(world: World) -> Mirror:
    new_mirror = Mirror(world.places.mirrors, REPOSITORY, world.remote, lambda: None)
    new_mirror.fetch("main")
    return new_mirror


@pytest.fixture
def checkout(room: Workspace, mirror: Mirror) -> Checkout:
    new_checkout = Checkout(room, mirror, COMMITTER, lambda: None)
    new_checkout.clone(BRANCH, "main", Heads("", mirror.head("main")))
    return new_checkout


def sh(workspace: Workspace, line: str) -> None:
    """Run a shell line as the agent would."""
    child = workspace.start(("/bin/sh", "-c", line), env={}, writable=True, cap_bytes=10_000)
    assert finish(child, what=line, timeout_s=60, beat=lambda: None).exit_code == 0


def repo(world: World) -> Path:
    return world.places.workspaces / "x" / "repo"


def test_names_that_are_together_longer_than_a_line_may_be_are_all_there(
    world: World, checkout: Checkout
) -> None:
    names = {f"{number:05}{'x' * 240}" for number in range(4_500)}
    for name in names:
        (repo(world) / name).touch()
    changed = checkout.list_changed_since(checkout.commit(), "Left behind")
    assert set(changed.names) == names
    assert not changed.more


def test_a_name_that_is_too_long_to_be_read_is_no_other_name_and_is_missed(
    world: World, checkout: Checkout
) -> None:
    blob = git(repo(world), "hash-object", "-w", "README.md")
    rows = "".join(f"100644 blob {blob}\t{name}\n" for name in ("a" * 1_200_000, "ü-lock.json", "x"))
    made = subprocess.run(("git", "mktree"), input=rows, cwd=repo(world), capture_output=True, text=True)
    head = git(repo(world), "commit-tree", "-m", "x", made.stdout.strip())
    git(repo(world), "update-ref", "HEAD", head)
    listing = checkout.lock_files()
    assert listing.names == (f"{blob} ü-lock.json",)
    assert listing.more


def test_a_run_with_a_plan_and_a_gate_starts_few_commands_of_cardinals_own(world: World) -> None:
    started: list[list[str]] = []
    listening = True

    def hear(event: str, told: tuple[Any, ...]) -> None:  # it cannot be taken away again
        if listening and event == "subprocess.Popen":
            started.append(list(told[1]))

    sys.addaudithook(hear)
    world.scenario(plan=[PLAN], work=WORK)
    spec = world.spec(plan_required=True, validation=checks(fast=("true",), full=("true",)))
    world.run(spec)
    world.approve(spec)
    assert world.ended().ending is Ending.SUCCEEDED
    listening = False
    inside = [argv for argv in started if "bwrap" in argv]
    own = [argv for argv in inside if any("core.hooksPath=/dev/null" in word for word in argv)]
    assert 0 < len(own) <= MAX_STARTS
    assert len(own) < len(started) <= MAX_PROGRAMS


def test_what_is_left_is_committed_and_the_head_is_told(
    world: World, checkout: Checkout, room: Workspace
) -> None:
    before = checkout.commit()
    assert checkout.commit_leftovers("Nothing") == before
    sh(room, "echo new > new.txt")
    after = checkout.commit_leftovers("Take `it` \"with\" $(touch evil) 'all'")
    assert after == checkout.commit() != before
    said = subprocess.run(
        ("git", "-c", "safe.directory=*", "log", "-1", "--format=%s", "--name-only"),
        cwd=repo(world), capture_output=True, text=True, check=True,
    ).stdout.split("\n")  # fmt: skip
    assert said[0] == "Take `it` \"with\" $(touch evil) 'all'"
    assert "new.txt" in said
    assert not (repo(world) / "evil").exists()


def test_files_are_kept_and_committed_also_where_the_agent_replaced_its_commit(
    world: World, checkout: Checkout
) -> None:
    before, place = checkout.commit(), repo(world)
    (place / "README.md").write_text("New.\n")
    other = checkout.commit_leftovers("Other")
    git(place, "reset", "--soft", before)
    git(place, "replace", before, other)
    kept = checkout.keep(before, "", (), 10_000_000)
    assert kept.head == before != kept.files
    assert checkout.commit_leftovers("Again") != before


def test_work_goes_on_its_new_base_or_the_conflicting_paths_are_told(
    world: World, checkout: Checkout, mirror: Mirror
) -> None:
    (repo(world) / "README.md").write_text("Mine.\n")
    apart = world.commit({"other.txt": "theirs\n"})
    checkout.fetch(BRANCH, "main", mirror.fetch_heads(BRANCH, "main"))
    assert checkout.put_on(apart, "Mine") == ()
    assert checkout.commits_since(apart) == 1
    against = world.commit({"README.md": "Theirs.\n"})
    checkout.fetch(BRANCH, "main", mirror.fetch_heads(BRANCH, "main"))
    head = checkout.commit()
    assert checkout.put_on(against, "Mine") == ("README.md",)
    assert checkout.commit() == head
    assert (repo(world) / "README.md").read_text() == "Mine.\n"


def test_a_mirror_that_moved_on_for_another_card_still_gives_what_this_one_saw(
    world: World, checkout: Checkout, mirror: Mirror
) -> None:
    world.commit({"other.txt": "theirs\n"})
    heads = mirror.fetch_heads(BRANCH, "main")
    tree = git(world.origin, "rev-parse", f"{heads.base}^{{tree}}")
    git(world.origin, "update-ref", "refs/heads/main", git(world.origin, "commit-tree", tree, "-m", "Anew"))
    assert mirror.fetch("main") != heads.base
    (repo(world) / "new.txt").write_text("mine\n")
    checkout.fetch(BRANCH, "main", heads)
    assert checkout.put_on(heads.base, "Mine") == ()
    assert checkout.commits_since(heads.base) == 1


def test_a_claim_stands_on_the_base_that_it_saw_whatever_another_card_fetches_meanwhile(world: World) -> None:
    cloning, moved = False, ""

    def hear(event: str, told: tuple[Any, ...]) -> None:  # it cannot be taken away again
        nonlocal cloning, moved
        if event != "subprocess.Popen" or moved:
            return
        if cloning:  # whatever the claim starts next, its clone is done
            moved = "moving"  # what this starts is heard as well
            moved = world.commit({"other.txt": "theirs\n"})
            Mirror(world.places.mirrors, REPOSITORY, world.remote, lambda: None).fetch("main")
        cloning = any(checkout_scripts.CLONE in word for word in told[1])

    sys.addaudithook(hear)
    world.scenario(plan=[PLAN], work=WORK)
    world.run(world.spec())
    assert world.ended().ending is Ending.SUCCEEDED
    assert moved


def test_what_is_left_is_looked_for_only_after_a_command_that_could_leave_it(
    checkout: Checkout, room: Workspace, mirror: Mirror, tmp_path: Path
) -> None:
    sh(room, "echo new > new.txt")
    head, started = checkout.commit_leftovers("Mine"), room.changes
    assert checkout.commit_leftovers("Mine") == head
    assert room.changes == started
    checkout.export(tmp_path / "x.pack", head, mirror.head("main"), 1_000_000)
    mirror.take_pack(tmp_path / "x.pack", head, "r1-head")
    checkout.restore(mirror.head("main"))
    checkout.adopt(head)
    started = room.changes
    assert checkout.commit_leftovers("Mine") == head == checkout.commit()
    assert room.changes == started
    sh(room, "git -c user.name=a -c user.email=b commit -qm Theirs --allow-empty")
    assert checkout.commit_leftovers("Mine") == checkout.commit() != head


def test_what_is_committed_to_be_exported_has_its_pack_by_the_same_start_unless_it_is_unwanted(
    checkout: Checkout, room: Workspace, mirror: Mirror, tmp_path: Path
) -> None:
    base = mirror.head("main")
    assert checkout.commit_leftovers("Nothing", base, base) == base
    assert not (room.root / "out/branch.pack").exists()  # type: ignore[attr-defined]
    sh(room, "echo new > new.txt")
    head, started = checkout.commit_leftovers("Mine", base, base), room.changes
    checkout.export(tmp_path / "x.pack", head, base, 1_000_000)
    assert room.changes == started
    mirror.take_pack(tmp_path / "x.pack", head, "r1-head", base)
    assert mirror.files(head) > {"new.txt"}
    checkout.export(tmp_path / "x.pack", head, base, 1_000_000)  # a second one is packed anew
    assert room.changes > started


def test_the_size_of_a_branch_counts_what_a_later_commit_removes(
    world: World, checkout: Checkout, room: Workspace, mirror: Mirror, tmp_path: Path
) -> None:
    base, commit = mirror.head("main"), "git -c user.name=a -c user.email=b commit -qm Big"
    sh(room, f"head -c 300000 /dev/urandom > big; git add big; {commit}; git rm -q big; {commit}")
    head = checkout.commit_leftovers("Mine", base)
    checkout.export(tmp_path / "x.pack", head, base, 1_000_000)
    mirror.take_pack(tmp_path / "x.pack", head, "r1-head", base)
    by_git = Mirror(world.places.mirrors, REPOSITORY, world.remote, lambda: None).diff(base, head)
    assert 300_000 < mirror.diff(base, head).added_bytes == pytest.approx(by_git.added_bytes, abs=1_000)


def test_a_step_that_fails_is_named(world: World, checkout: Checkout, room: Workspace) -> None:
    with pytest.raises(WorkspaceError, match=r"^git fetch failed: .*1111111"):
        checkout.fetch(BRANCH, "main", Heads("", "1" * 40))
    with pytest.raises(WorkspaceError, match=r"^git reset failed: .*1111111"):
        checkout.restore("1" * 40)
    (repo(world) / "new.txt").write_text("new\n")
    (repo(world) / ".git" / "index.lock" / "held").mkdir(
        parents=True
    )  # a lock that nobody holds is no obstacle
    checkout.commit_leftovers("Mine")
    sh(room, "rm .git/config; chmod 500 .git")
    with pytest.raises(WorkspaceError, match=r"^opening \.git failed: .*Permission denied"):
        checkout.commit_leftovers("Mine")


def test_an_export_whose_base_is_not_there_holds_everything(checkout: Checkout, tmp_path: Path) -> None:
    pack, head = tmp_path / "x.pack", checkout.commit()
    checkout.export(pack, head, "0" * 39 + "1", 1_000_000)
    git(tmp_path, "init", "--quiet", "--bare", "empty.git")
    git(tmp_path / "empty.git", "index-pack", "-o", "objects/pack/x.idx", str(pack))
    pack.rename(tmp_path / "empty.git/objects/pack/x.pack")
    assert git(tmp_path / "empty.git", "rev-list", "--objects", head)
