"""No room, no more files on the disk, no descriptor: it is said, nothing is lost, it goes on by itself."""

import os
import re
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from bot.admin.clone import hooks
from bot.admin.clone.own_git import CloneError
from bot.scheduler.alarms import free_bytes
from bot.system import private_file
from ledger.errors import BackupError
from ledger.events.run import AgentSaid
from ledger.ids import CardId, RunId
from ledger.lifecycle.backup import backup, check_copy
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store, hash_chain
from runner import workspaces
from runner.artifacts.backend import StoreError
from runner.artifacts.folder import FolderStore
from runner.errors import GitError, GitLimitError, RunnerError, SpawnError
from runner.git.checkout import Checkout
from runner.git.mirror import Heads, Mirror
from runner.run.run_spec import HostPaths
from runner.session.records import Transcript, transcript_of
from runner.workspaces.contract import Tenancy, Workspace
from tests.ledger.samples import NOW
from tests.runner.world import BRANCH, COMMITTER, FileRemote, git

SIZE, FILES = 8_000_000, 300
NAME = "ab" * 32
BLOCK = 4096
UNFINISHED = re.compile(r"\.new$|\.partial$|^tmp_pack")
MAX_TRIES = 300
Shortage = Callable[[Path, int], AbstractContextManager[None]]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Return a disk of 8 MB and 300 files."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a disk of its own")
    place = tmp_path / "disk"
    place.mkdir()
    options = f"size={SIZE},nr_inodes={FILES}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", place], check=True, timeout=60)
    yield place
    subprocess.run(["umount", "--lazy", place], check=True, timeout=60)


@contextmanager
def no_room(disk: Path, left: int) -> Iterator[None]:
    """Leave so many blocks."""
    with suppress(OSError), (disk / "full").open("wb", buffering=0) as file:
        for _ in range(SIZE):
            file.write(bytes(1000))
    os.truncate(disk / "full", max(0, (disk / "full").stat().st_size - left * BLOCK))
    yield
    (disk / "full").unlink()


@contextmanager
def no_files(disk: Path, left: int) -> Iterator[None]:
    """Leave so many files."""
    many = disk / "many"
    many.mkdir()
    with suppress(OSError):
        for number in range(FILES):
            (many / str(number)).touch()
    for file in [*many.iterdir()][:left]:
        file.unlink()
    yield
    subprocess.run(["rm", "-r", many], check=True, timeout=60)


@contextmanager
def no_descriptors(_disk: Path, left: int) -> Iterator[None]:
    """Leave so many descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = [os.open("/", os.O_RDONLY)]
    limit = max(held[0], *map(int, os.listdir("/proc/self/fd"))) + 1 + left
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    try:
        with suppress(OSError):
            while True:
                held.append(os.dup(held[0]))
        for descriptor in held[len(held) - left :]:
            os.close(descriptor)
        del held[len(held) - left :]
        yield
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@dataclass(frozen=True, slots=True)
class Write:
    """A write, how it is refused, and a look at what was written: the same before and after."""

    write: Callable[[Path], object]
    refused: tuple[type[Exception], ...]
    look: Callable[[Path], object]


def _append(disk: Path) -> None:
    engine = open_ledger(f"sqlite:///{disk}/data/ledger.db", migrate=not (disk / "data/ledger.db").exists())
    try:
        with event_store.writing(engine) as db:
            event_store.append(db, AgentSaid(RunId("r1"), "x" * 2_000), at=NOW)
    finally:
        engine.dispose()


def _is_whole(disk: Path) -> bool:
    engine = open_ledger(f"sqlite:///{disk}/data/ledger.db", migrate=False)
    try:
        with event_store.reading(engine) as db:
            last = event_store.last_seq(db)
            return last > 0 and hash_chain.verify_chain(db).events == last
    finally:
        engine.dispose()


def _back_up(disk: Path) -> None:
    if not (disk / "data/ledger.db").exists():
        _append(disk)
    engine = open_ledger(f"sqlite:///{disk}/data/ledger.db", migrate=False)
    try:
        backup(engine, disk / f"copies/{len([*disk.glob('copies/*.db')])}.db")
    finally:
        engine.dispose()


def _stored(disk: Path) -> bytes:
    found = FolderStore(disk / "store").get(NAME)
    assert found is not None
    with found:
        return found.readall()


def _mirror(disk: Path) -> Mirror:
    return Mirror(disk / "mirrors", "acme/shop", FileRemote(str(disk.parent / "theirs")), lambda: None)


def _fetch(disk: Path) -> None:
    theirs = disk.parent / "theirs"
    amends = ("--amend",) if theirs.exists() else ()  # what was not fetched yet is no more each time
    if not amends:
        subprocess.run(["git", "init", "--quiet", "-b", "main", theirs], check=True, timeout=60)
    named = ("-c", "user.name=a", "-c", "user.email=a@b")
    (theirs / "file").write_bytes(os.urandom(100_000))
    for words in (("add", "."), ("commit", "--quiet", *amends, "-m", "More")):
        subprocess.run(["git", "-C", theirs, *named, *words], check=True, timeout=60)
    _mirror(disk).fetch("main")


def _room(disk: Path, name: str) -> Workspace:
    places = HostPaths(*(disk / part for part in ("mirrors", "workspaces", "logs", "scenarios")))
    return workspaces.load("local").open(places, Tenancy(CardId(name)))


def _check_out(disk: Path) -> Checkout:
    """Check out what is in the mirror for one more card, as a run does that finds no finished checkout.

    What an earlier attempt left is there, as it is for such a run.
    """
    number = len([*disk.glob("workspaces/*/ready")])
    if not number:
        _fetch(disk)
    room, mirror = _room(disk, f"c{number}"), _mirror(disk)
    checkout = Checkout(room, mirror, COMMITTER, lambda: None)
    assert room.fresh
    checkout.clone(BRANCH, "main", Heads("", mirror.head("main")))
    room.mark_ready()
    return checkout


def _export(disk: Path) -> None:
    mirror, place = _mirror(disk), disk / "workspaces/c0/repo"
    head = git(place, "rev-parse", "HEAD") if place.exists() else ""
    checkout = Checkout(_room(disk, "c0"), mirror, COMMITTER, lambda: None) if head else _check_out(disk)
    pack = disk / "run.pack"
    checkout.export(pack, head or checkout.commit(), "", SIZE)
    git(disk, "index-pack", "--strict", "-o", str(disk.parent / "run.idx"), str(pack))


def _checked_out(disk: Path) -> set[tuple[str, str]]:
    """Return the commits of all finished checkouts, and what is changed in them."""
    places = [ready.parent / "repo" for ready in disk.glob("workspaces/*/ready")]
    return {(git(place, "rev-parse", "HEAD"), git(place, "status", "--porcelain")) for place in places}


def _install(disk: Path) -> None:
    clone = disk / "clone"
    if not clone.exists():
        git(disk, "init", "--quiet", str(clone))
    hooks.install_hooks(clone, os.environ)


def _hooks(disk: Path) -> dict[str, tuple[str, bool]]:
    installed = {it.name: it.path for it in hooks.places(disk / "clone", os.environ)}
    return {name: (path.read_text(), os.access(path, os.X_OK)) for name, path in installed.items()}


WRITES = {
    "a checkout": Write(_check_out, (RunnerError, OSError), _checked_out),
    "the export of a checkout": Write(_export, (RunnerError, OSError), _checked_out),
    "the hooks of a clone": Write(_install, (CloneError, RunnerError, OSError), _hooks),
    "an event": Write(_append, (OperationalError, OSError), _is_whole),
    "a file in the store": Write(
        lambda disk: FolderStore(disk / "store").put(BytesIO(b"x" * 100_000), NAME), (StoreError,), _stored
    ),
    "a secret": Write(
        lambda disk: private_file.write(disk / "keys" / "key", "word" * 5_000),
        (OSError,),
        lambda disk: (disk / "keys" / "key").read_text(),
    ),
    "a back-up": Write(
        _back_up,
        (BackupError, OperationalError, OSError),
        lambda disk: check_copy(disk / "copies/0.db").events,
    ),
    "commits of GitHub": Write(
        _fetch,
        (GitError, GitLimitError, SpawnError, OSError),
        lambda disk: _mirror(disk).query("fsck", "--strict", "--no-dangling"),
    ),
}


STEPS: dict[Shortage, int] = {
    no_room: 70,
    no_files: 70,
    no_descriptors: 8,
}  # more is left each time; the soak leaves one more


@pytest.mark.parametrize("fine", [False, pytest.param(True, marks=pytest.mark.soak)])
@pytest.mark.parametrize("shortage", STEPS)
@pytest.mark.parametrize("name", WRITES)
def test_a_write_is_refused_wherever_it_runs_short_loses_nothing_and_goes_on(
    disk: Path, name: str, shortage: Shortage, fine: bool
) -> None:
    it = WRITES[name]
    it.write(disk)
    before = it.look(disk)
    with shortage(disk, 0), pytest.raises(it.refused):
        it.write(disk)
    for left in range(0, MAX_TRIES, 1 if fine else STEPS[shortage]):
        is_refused = True
        with shortage(disk, left), suppress(*it.refused):
            it.write(disk)
            is_refused = False
        assert it.look(disk) == before
        assert [path for path in disk.rglob("*") if UNFINISHED.search(path.name)] == []
        if not is_refused:
            break
    it.write(disk)
    assert (is_refused, it.look(disk)) == (False, before)


def test_a_run_goes_on_without_its_log(disk: Path) -> None:
    transcript = Transcript(disk, "r1")
    transcript.write(">", "before")
    with no_room(disk, 0):
        for _ in range(100):
            transcript.write(">", "meanwhile " * 100)
        transcript.close()
    again = Transcript(disk, "r1")
    again.write(">", "after")
    again.close()
    assert transcript_of(disk, "r1").read_text().endswith("> after\n")


def test_a_disk_without_room_for_files_is_as_good_as_full(disk: Path) -> None:
    assert free_bytes(disk) == 0  # it takes some hundred
