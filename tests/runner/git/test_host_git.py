"""git on the host gets only so much of it, and what was killed is told as what it is."""

import fcntl
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from runner.errors import GitError, GitLimitError, KilledError
from runner.exec import child as exec_child
from runner.exec.child import Child, Ran, finish
from runner.exec.launch import ProcessLimits
from runner.git import checkout_scripts
from runner.git.cli import judge, run_git
from runner.git.mirror import Mirror
from runner.git.tree_entries import Query, check_entries
from runner.guards.diff import Known, change_of
from runner.workspaces.bubblewrap import sandbox_problem
from tests.runner.world import REPOSITORY, World, git, packed

# Less than a megabyte that names 40 ** 6 files, with long paths.
BOMB = """
import subprocess
def git(*words, given=""):
    done = subprocess.run(("git", *words), input=given, capture_output=True, check=True, text=True)
    return done.stdout.strip()
mode, kind, name = "100644", "blob", git("hash-object", "-w", "--stdin", given="x")
for _ in range(6):
    name = git("mktree", given="".join(f"{mode} {kind} {name}\\t{i:0200}\\n" for i in range(40)))
    mode, kind = "040000", "tree"
print(git("-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", name, "-p", "main", "-m", "Say hello"))
"""
FEW = BOMB.replace("range(6)", "range(2)")
BOUNDS = ProcessLimits(4_000_000_000, 1_500_000_000, 60)


def nothing() -> None:
    """The beat of a command that nobody watches."""


@pytest.fixture
def kill_children() -> Callable[[], None]:
    """Return a beat that kills all that the test started, and nothing that was there before."""
    before = set(psutil.Process().children(recursive=True))

    def kill() -> None:
        for child in {*psutil.Process().children(recursive=True)} - before:
            child.kill()

    return kill


def test_trees_within_trees_do_not_eat_the_host(world: World) -> None:
    mirror = Mirror(world.places.mirrors, REPOSITORY, world.remote, nothing)
    base = mirror.fetch("main")
    made = subprocess.run(
        (sys.executable, "-c", BOMB), cwd=mirror.path, capture_output=True, text=True, check=True
    )
    with pytest.raises(
        GitLimitError, match=r"^git diff was stopped because it wanted more than 1500 MB of memory"
    ):
        change_of(mirror, base, made.stdout.strip(), Known((base,), "", ()))


def test_a_commit_that_names_a_parent_very_often_is_compared_with_it_once(world: World) -> None:
    mirror = Mirror(world.places.mirrors, REPOSITORY, world.remote, nothing)
    base = mirror.fetch("main")

    def stored(kind: str, content: bytes) -> str:
        args = ("git", "hash-object", "-w", "--stdin", "-t", kind)
        return subprocess.check_output(args, cwd=mirror.path, input=content).decode().strip()

    empty = stored("blob", b"")
    rows = b"".join(b"100644 f%06d\0" % number + bytes.fromhex(empty) for number in range(2_000))
    parents, who = f"parent {base}\n" * 20_000, "A <a@example.org> 1 +0000"
    text = f"tree {stored('tree', rows)}\n{parents}author {who}\ncommitter {who}\n\nx\n"
    head = stored("commit", text.encode())
    began = time.process_time()
    change = change_of(mirror, base, head, Known((base,), "", ()))
    assert time.process_time() - began < 2
    assert len(change.touched) > 2_000


def test_a_pack_that_names_files_without_end_is_not_even_compared(world: World, tmp_path: Path) -> None:
    mirror = Mirror(world.places.mirrors, REPOSITORY, world.remote, nothing)
    mirror.fetch("main")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(world.origin), str(clone))
    for number, (program, refused) in enumerate(((FEW, False), (BOMB, True))):
        made = subprocess.run(
            (sys.executable, "-c", program), cwd=clone, capture_output=True, text=True, check=True
        )
        git(clone, "update-ref", "--no-deref", "HEAD", made.stdout.strip())
        head, pack = made.stdout.strip(), packed(clone, tmp_path / f"{number}.pack", "HEAD", "^main")
        if refused:
            with pytest.raises(GitLimitError, match="more than 2,000,000 files"):
                mirror.take_pack(pack, head, "r1-export")
            assert not mirror.has(head)
        else:
            mirror.take_pack(pack, head, "r1-export")
            assert mirror.has(head)
            assert mirror.read_ref("r1-export") == head


def test_a_pack_that_lacks_what_it_names_is_refused_and_leaves_nothing(world: World, tmp_path: Path) -> None:
    mirror = Mirror(world.places.mirrors, REPOSITORY, world.remote, nothing)
    mirror.fetch("main")
    git(tmp_path, "init", "--quiet", "clone")
    (tmp_path / "clone/new.txt").write_text("new\n")
    git(tmp_path / "clone", "add", "new.txt")
    git(tmp_path / "clone", "commit", "--quiet", "-m", "New")
    head, packs = git(tmp_path / "clone", "rev-parse", "HEAD"), set(mirror.path.glob("objects/pack/*"))
    blob = git(tmp_path / "clone", "rev-parse", "HEAD:new.txt")
    rows = git(tmp_path / "clone", "rev-list", "--objects", "--no-object-names", "HEAD").replace(blob, "")
    made = ("git", "pack-objects", "--quiet", "--stdout")
    done = subprocess.run(made, cwd=tmp_path / "clone", input=rows.encode(), capture_output=True, check=True)
    pack = tmp_path / "x.pack"
    pack.write_bytes(done.stdout)
    with pytest.raises(GitError, match="did not receive expected object"):
        mirror.take_pack(pack, head, "r1-head")
    assert not mirror.has(head)
    assert mirror.read_ref("r1-head") == ""
    assert set(mirror.path.glob("objects/pack/*")) == packs
    assert not list(tmp_path.glob("x.*"))


def nested(folder: Path, wide: int) -> str:
    """Make a commit of a tree that names one other tree again and again, which does so with a file."""
    git(folder, "init", "--quiet", ".")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "Begin")
    (folder / "file").write_text("x")
    mode, kind, name = "100644", "blob", git(folder, "hash-object", "-w", "file")
    for _ in range(2):
        rows = "".join(f"{mode} {kind} {name}\t{number:06}\n" for number in range(wide))
        made = subprocess.run(("git", "mktree"), input=rows, cwd=folder, capture_output=True, text=True)
        mode, kind, name = "040000", "tree", made.stdout.strip()
    return git(folder, "commit-tree", name, "-m", "Nest")


def looking(folder: Path) -> Query:
    return lambda *words, given=b"": subprocess.run(
        ("git", *words), input=given, cwd=folder, capture_output=True, check=True
    ).stdout.decode()


def test_a_tree_that_is_named_again_and_again_is_looked_at_once(tmp_path: Path) -> None:
    commit, began_s = nested(tmp_path, 30_000), time.process_time()
    with pytest.raises(GitLimitError, match="more than 2,000,000 files"):
        check_entries(looking(tmp_path), commit)
    assert time.process_time() - began_s < 8  # it was as long as there are files: 900 million


def test_of_all_new_trees_together_no_more_is_listed_than_fits(tmp_path: Path) -> None:
    commit = nested(tmp_path, 1_000)
    check_entries(looking(tmp_path), commit, 2_000)
    with pytest.raises(GitLimitError, match="1,999 names"):
        check_entries(looking(tmp_path), commit, 1_999)


def test_git_in_the_place_of_the_agent_is_bounded_as_well(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", ".")
    assert checkout_scripts.BOUNDS.memory_bytes is not None
    wanted = str(checkout_scripts.BOUNDS.memory_bytes // 1024)
    show = ("-c", "alias.show-bound=!ulimit -v", "show-bound")
    for command in (checkout_scripts.git_command(*show), checkout_scripts.command('g "$@"', *show)):
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert ran.stdout == f"{wanted}\n"


def test_a_git_that_is_killed_is_told_as_that(tmp_path: Path, kill_children: Callable[[], None]) -> None:
    git(tmp_path, "init", "--quiet", "--bare", ".")
    with (tmp_path / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(
            KilledError, match=r"^git gc was killed \(signal 9\): the machine may have run out"
        ):
            run_git(("gc",), folder=tmp_path, beat=kill_children, timeout_s=60, lock=tmp_path / "lock")


def test_an_answer_without_end_is_told_as_that(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--bare", ".")
    endless = ("-c", "alias.endless=!head -c 70000000 /dev/zero", "endless")
    with pytest.raises(GitLimitError, match="wanted more than 64 MB for its answer"):
        run_git(endless, folder=tmp_path, beat=nothing, timeout_s=60)


@pytest.mark.parametrize(
    ("exit_code", "said", "error", "why"),
    [
        (-24, "", GitLimitError, "60 s of a processor"),
        (152, "", GitLimitError, "60 s of a processor"),
        (-25, "", GitLimitError, "4000 MB in one file"),
        (128, "error: index-pack died of signal 25", GitLimitError, "4000 MB in one file"),
        (128, "fatal: Out of memory, malloc failed", GitLimitError, "1500 MB of memory"),
        (128, "fatal: mmap failed: Cannot allocate memory", GitLimitError, "1500 MB of memory"),
        (128, "error: pack-objects died of signal 9", KilledError, "signal 9"),
        (137, "", KilledError, "signal 9"),
    ],
)
def test_what_stopped_git_is_told(exit_code: int, said: str, error: type[Exception], why: str) -> None:
    with pytest.raises(error, match=why):
        judge("fetch", Ran(exit_code, "", said, 1.0, flooded=False), BOUNDS)


@pytest.mark.parametrize(
    "said", ["remote: fatal: Out of memory, malloc failed", "fatal: not a git repository"]
)
def test_what_a_server_says_of_itself_is_no_limit_of_this_host(said: str) -> None:
    judge("fetch", Ran(128, "", said, 1.0, flooded=False), BOUNDS)


def test_a_sandbox_that_is_killed_is_told_as_that(kill_children: Callable[[], None]) -> None:
    child = Child(("sleep", "60"), env={"PATH": "/usr/bin:/bin"}, cwd=Path("/"), cap_bytes=1)
    with pytest.raises(KilledError, match=r"^make check was killed"):
        finish(child, what="make check", timeout_s=60, beat=kill_children)


def test_what_cardinal_itself_ends_was_not_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exec_child, "_EXIT_S", 1.0)
    child = Child(
        ("sh", "-c", "exec >&- 2>&-; sleep 60"), env={"PATH": "/usr/bin:/bin"}, cwd=Path("/"), cap_bytes=1
    )
    assert finish(child, what="it", timeout_s=60, beat=nothing).exit_code == -9


def test_a_bubblewrap_that_is_killed_as_it_is_tried_is_not_one_that_does_not_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sandbox_problem() == ""
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\nkill -9 $$\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(KilledError, match=r"^bubblewrap was killed"):
        sandbox_problem()
    fake.write_text("#!/bin/sh\nexit 0\n")
    assert sandbox_problem() == ""
