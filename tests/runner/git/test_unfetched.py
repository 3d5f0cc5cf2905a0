"""Submodules and files in Git LFS: people read why a check cannot have them."""

import subprocess
from pathlib import Path

import pytest

from ledger.states import Ending
from runner.errors import GitLimitError
from runner.git.mirror import Mirror
from runner.git.unfetched import explain_unfetched
from tests.runner.world import REPOSITORY, World, checks, git

POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12345\n"
LFS = {".gitattributes": "*.txt text\n*.bin filter=lfs diff=lfs merge=lfs -text\n"}
EDIT = {"edit": {"path": "a.txt", "content": "a\n"}}
FINISH = {"finish": {"done": "Done."}}
PLAN = {"plan": {"summary": "x", "steps": ["a"]}}
# A library with a known id.
MAKE = (
    "export GIT_AUTHOR_DATE='@1 +0000' GIT_COMMITTER_DATE='@1 +0000' GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a"
    " GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a; git init -q {0} && echo x > {0}/lib && git -C {0} add lib"
    " && git -C {0} commit -qm x"
)


def mirrored(world: World) -> Mirror:
    mirror = Mirror(world.places.mirrors, REPOSITORY, world.remote, lambda: None)
    mirror.fetch("main")
    return mirror


def with_submodules(world: World, *paths: str, at: str = "1" * 40, url: str = "https://x.example/y") -> str:
    rows = "".join(f'[submodule "{path}"]\n\tpath = {path}\n\turl = {url}\n' for path in paths)
    world.commit({".gitmodules": rows})
    index = {"GIT_INDEX_FILE": str(world.root / "index")}
    words = [word for path in paths for word in ("--cacheinfo", f"160000,{at},{path}")]

    def plumb(*rest: str) -> str:
        done = subprocess.run(
            ("git", "-c", "user.name=a", "-c", "user.email=a", *rest),
            cwd=world.origin,
            env=index | {"PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    plumb("read-tree", "refs/heads/main")
    plumb("update-index", "--add", *words)
    made = plumb("commit-tree", "-m", "Libraries", "-p", "refs/heads/main", plumb("write-tree"))
    git(world.origin, "update-ref", "refs/heads/main", made)
    return made


def test_submodules_are_named_up_to_three(world: World) -> None:
    head = with_submodules(world, "libs/a", "libs/b", "libs/c", "libs/ü", "x")
    said = explain_unfetched(mirrored(world), head)
    assert said.startswith(
        "The repository has submodules (libs/a, libs/b, libs/c and 2 more): Cardinal does not"
    )


@pytest.mark.parametrize(
    ("files", "named"),
    [
        (LFS | {"a.bin": POINTER, "dir/ü.bin": POINTER + "\n"}, "(a.bin, dir/ü.bin)"),
        (LFS | {"a.bin": "binary"}, ""),
        ({"a.bin": POINTER}, ""),  # a text about pointers
        ({".gitattributes": "# *.bin filter=lfs\n", "a.bin": POINTER}, ""),
        ({"sub/.gitattributes": "*.bin filter=lfs\n", "sub/a.bin": POINTER}, "(sub/a.bin)"),
        (LFS | {"big.bin": POINTER + "x" * 2_000}, ""),
        ({".gitattributes": "# long\n" * 20_000 + "*.bin filter=lfs\n", "a.bin": POINTER}, ""),
    ],
)
def test_files_in_lfs_are_named_where_they_are_pointers(
    world: World, files: dict[str, str], named: str
) -> None:
    head = world.commit(files)
    said = explain_unfetched(mirrored(world), head)
    assert (f"files in Git LFS {named}:" in said) if named else said == ""


def test_more_files_than_can_be_listed_are_explained_by_nothing(world: World) -> None:
    class CrowdedMirror(Mirror):
        def query(self, *args: str, given: bytes = b"", objects: Path | None = None) -> str:
            raise GitLimitError(args[0], "64 MB for its answer")

    head = with_submodules(world, "libs/x")
    assert explain_unfetched(mirrored(world), head)
    crowded = CrowdedMirror(world.places.mirrors, REPOSITORY, world.remote, lambda: None)
    assert explain_unfetched(crowded, head) == ""


def test_people_and_agents_read_why_a_check_cannot_have_a_submodule(world: World) -> None:
    with_submodules(world, "libs/x")
    world.scenario(plan=[PLAN], work=[EDIT, {"commit": "Add a"}, FINISH])
    world.run(world.spec(validation=checks(fast=(), full=("test -f libs/x/lib",))))
    why = "The repository has submodules (libs/x): Cardinal does not fetch them"
    assert any(each.text.startswith(why) for each in world.of("Progressed"))
    assert why in world.of("CommandChecked")[0].tail
    assert why in world.of("RoundFailed")[0].useful


def test_a_set_up_may_fetch_submodules(world: World) -> None:
    library = world.root / "library"
    subprocess.run(("sh", "-c", MAKE.format(library)), check=True, env={"PATH": "/usr/bin:/bin"})
    with_submodules(world, "libs/x", at=git(library, "rev-parse", "HEAD"), url="/tmp/library")
    fetch = f"{MAKE.format('/tmp/library')}; git -c protocol.file.allow=always submodule update --init"
    world.scenario(plan=[PLAN], work=[EDIT, {"commit": "Add a"}, FINISH])
    there = "test -f libs/x/lib"
    world.run(world.spec(validation=checks(setup=(fetch,), fast=(there,), full=(there,))))
    failed = [each.tail for each in world.of("CommandChecked") if each.exit_code]
    assert world.ended().ending is Ending.SUCCEEDED, (world.ended(), failed)
    assert git(world.origin, "diff", "--name-only", "main", world.head()) == "a.txt"
