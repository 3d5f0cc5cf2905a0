"""`cardinal artifacts`: what a run left is listed, and one file comes out as it was kept."""

import json
import os
import pty
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import Engine

from bot.cli import main
from bot.runspec.host_paths import make_host_paths
from bot.system.config import Config
from ledger.events.artifact import ArtifactDropped, ArtifactKept
from ledger.ids import RunId
from ledger.log import event_store
from runner.artifacts.store import store_of
from tests.bot.cli.conftest import HOSTILE, card, queued

AT = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)
R1 = RunId("r1")
Call = Callable[..., Result]


@pytest.fixture
def kept(engine: Engine, config: Config) -> str:
    """Let run r1 have one artifact, and one that was dropped; return the first one's digest."""
    stored = store_of(make_host_paths(config)).keep("all 3 tests passed\n")
    with event_store.writing(engine) as db:
        event_store.append(
            db,
            card(1, "Totals"),
            queued("r1", 1),
            ArtifactKept(R1, f"full 1: {HOSTILE}", "log", stored.digest, stored.size_bytes),
            ArtifactKept(R1, "report.md", "report", "f" * 64, 7),
            ArtifactDropped(R1, "report.md", "f" * 64, "age"),
            ArtifactDropped(R1, "full 2: pytest", "e" * 64, "share", "log", 9_000_000),
            ArtifactDropped(R1, "full 2: pytest", "e" * 64, "share", "log", 9_000_000),
            at=AT,
        )
    return stored.digest


@pytest.fixture
def call(config: Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(main, words, env={"CARDINAL_HOME": str(config.home)})


def test_they_are_listed_with_their_digests_and_with_what_is_gone(call: Call, kept: str) -> None:
    for listed in (call("artifacts", "r1").stdout, call("show", "r1").stdout):
        assert kept[:12] in listed
        assert "dropped: it was too old" in listed
        assert listed.count("not kept: the run had used its share") == 1
        assert "\x1b" not in listed


def test_programs_get_whole_rows(call: Call, kept: str) -> None:
    rows = json.loads(call("artifacts", "r1", "--json").stdout)["artifacts"]
    assert {"digest": kept, "kind": "log"}.items() <= rows[0].items()
    assert "age" in {row["dropped"] for row in rows}


def test_one_comes_out_by_the_beginning_of_its_digest(call: Call, kept: str, tmp_path: Path) -> None:
    assert call("artifacts", "r1", "--get", kept[:8]).stdout == "all 3 tests passed\n"
    assert call("artifacts", "r1", "--get", kept, "--to", "log.txt").exit_code == 0
    assert (tmp_path / "log.txt").read_text() == "all 3 tests passed\n"
    assert (tmp_path / "log.txt").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("digest", "said"),
    [("abc", "at least 6"), ("0" * 64, "lists its files"), ("f" * 64, "dropped: it was too old")],
)
def test_what_cannot_be_had_is_one_sentence(call: Call, kept: str, digest: str, said: str) -> None:
    result = call("artifacts", "r1", "--get", digest)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_file_that_the_disk_changed_is_not_given_out(call: Call, kept: str, config: Config) -> None:
    (make_host_paths(config).artifacts / kept[:2] / kept).write_text("0 tests failed\n")
    result = call("artifacts", "r1", "--get", kept)
    assert result.exit_code == 2
    assert "damaged on its disk" in result.stderr


def test_on_a_terminal_what_a_program_wrote_cannot_steer_it(
    engine: Engine, config: Config, program: Path, kept: str
) -> None:
    said = "\x1b]0;owned\x07\x1b[2Jdone\n"
    stored = store_of(make_host_paths(config)).keep(said)
    with event_store.writing(engine) as db:
        event_store.append(db, ArtifactKept(R1, "full 2", "log", stored.digest, stored.size_bytes), at=AT)
    command = [str(program), "artifacts", "r1", "--get", stored.digest]
    environ = {**os.environ, "CARDINAL_HOME": str(config.home)}
    ours, theirs = pty.openpty()
    try:
        subprocess.run(command, stdin=theirs, stdout=theirs, check=True, env=environ, timeout=120)
        shown = os.read(ours, 10_000)
    finally:
        os.close(ours)
        os.close(theirs)
    assert b"done" in shown
    assert b"\x1b" not in shown
    piped = subprocess.run(command, capture_output=True, check=True, env=environ, timeout=120)
    assert piped.stdout == said.encode()  # a file comes out as it is
