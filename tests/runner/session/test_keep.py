"""What a run leaves for people: complete, by digest, without secrets, capped."""

import hashlib
import os
from pathlib import Path

import pytest

from ledger.event import Event
from ledger.states import Ending
from runner.artifacts.folder import FolderStore
from runner.artifacts.store import BlobStore, Store, shorten, store_of
from runner.run.run_spec import Briefing
from tests.runner.flows.test_story import EDIT, FINISH, PLAN
from tests.runner.world import World, checks, limited

TOKEN = "ghp_" + "a" * 36


def delivered(world: World) -> dict[str, bytes]:
    """Return what a run left, by kind and name."""
    world.scenario(plan=[PLAN], work=[EDIT, FINISH])
    full = [f"echo before; echo {TOKEN}"]
    world.run(world.spec(validation=checks(full=full), briefing=Briefing(f"# Say hello\nwith {TOKEN}\n")))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    return {f"{one.kind} {one.name}": content(world, one.digest) for one in world.of("ArtifactKept")}


def content(world: World, digest: str) -> bytes:
    raw = store_of(world.places).read(digest)
    assert raw is not None
    return raw


def test_a_run_leaves_its_briefing_the_whole_log_the_patch_and_the_report(world: World) -> None:
    left = delivered(world)
    kinds = [name.partition(" ")[0] for name in left]
    assert kinds == ["briefing", "log", "transcript", "patch", "report"]
    assert left["briefing briefing.md"] == b"# Say hello\nwith [redacted]\n"
    log = next(raw for name, raw in left.items() if name.startswith("log full 1: echo before"))
    assert log == b"before\n[redacted]\n"
    assert b"+hello" in left["patch cardinal/12-hello.patch"].lower()
    assert left["report report.md"].startswith(b"# Report of r1\n\n")
    assert TOKEN.encode() not in b"".join(left.values())


def test_evidence_and_artifact_are_the_same_file(world: World) -> None:
    delivered(world)
    (checked,) = world.of("CommandChecked")
    (log,) = (one for one in world.of("ArtifactKept") if one.kind == "log")
    assert (log.digest, log.size_bytes) == (checked.log_digest, len(content(world, log.digest)))
    assert hashlib.sha256(content(world, log.digest)).hexdigest() == log.digest


def test_a_run_keeps_no_more_than_its_share_and_says_what_it_does_not_keep(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, FINISH])
    few = limited(kept_bytes=40)
    world.run(world.spec(limits=few, validation=checks(full=["echo " + "x" * 60])))
    events: list[Event] = world.of("ArtifactKept")
    assert sum(event.size_bytes for event in events) <= 40  # type: ignore[attr-defined]
    assert {one.reason for one in world.of("ArtifactDropped")} == {"share"}


def test_what_is_the_same_counts_once_against_the_share_and_under_every_name(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, FINISH])
    enough = limited(kept_bytes=600)
    twice = ["echo " + "x" * 400, "printf '%s\\n' " + "x" * 400]
    world.run(world.spec(limits=enough, validation=checks(fast=twice[:1], full=twice)))
    logs = [one for one in world.of("ArtifactKept") if one.kind == "log"]
    assert len(logs) == 3
    assert len({one.digest for one in logs}) == 1


def test_the_store_keeps_one_file_for_the_same_text_and_notices_damage(tmp_path: Path) -> None:
    store = Store(BlobStore(FolderStore(tmp_path / "artifacts")))
    first, second = store.keep("hello\n"), store.keep("hello\n")
    assert first == second
    (file,) = (tmp_path / "artifacts").glob("??/*")
    assert file == tmp_path / "artifacts" / first.digest[:2] / first.digest
    assert file.stat().st_mode & 0o077 == 0
    file.write_bytes(b"other\n")
    assert (store.read(first.digest), store.opened(first.digest)) == (None, None)
    store.keep("hello\n")
    assert store.read(first.digest) == b"hello\n"
    opened = store.opened(first.digest)
    assert opened is not None
    with opened:
        assert os.lseek(opened.fileno(), 0, os.SEEK_CUR) == 0  # a web server sends from there
        assert opened.read() == b"hello\n"
    store.remove(first.digest)
    store.remove(first.digest)
    assert (store.read(first.digest), store.opened(first.digest)) == (None, None)


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "/etc/passwd", "a" * 63, "A" * 64, "a" * 64 + "/"])
def test_no_other_file_is_read_through_the_store(tmp_path: Path, name: str) -> None:
    assert Store(BlobStore(FolderStore(tmp_path))).read(name) is None
    assert Store(BlobStore(FolderStore(tmp_path))).opened(name) is None


def test_what_is_too_long_loses_its_middle_and_says_so(tmp_path: Path) -> None:
    raw = shorten(b"a" * 500 + b"b" * 500, 100)
    assert raw.startswith(b"a" * 50)
    assert raw.endswith(b"b" * 50)
    assert b"[900 bytes are left out]" in raw
    assert Store(BlobStore(FolderStore(tmp_path))).keep("x" * 500, 100).size_bytes < 200
