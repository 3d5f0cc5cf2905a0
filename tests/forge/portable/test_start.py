"""A board whose Cardinal does not start says why, and does not end as if it had been stopped."""

import fcntl
import json
import signal
import sys
from collections.abc import Iterator

import pytest

from forge.portable.__main__ import _open_store, main
from forge.portable.saved import SavedForge
from tests.forge.portable.conftest import Portable
from tests.runner.world import git


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Give the signals back, which the program takes for itself."""
    known = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in known.items():
        signal.signal(number, handler)


def test_a_wrong_setting_is_said(
    portable: Portable, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = portable.mine / ".cardinal"
    folder.mkdir(mode=0o700)
    names = {"git": str(portable.mine / ".git"), "name": "shop", "into": "main"}
    person = {"login": "ann", "person": "Ann", "email": "ann@example.com", "columns": ["Tasks"]}
    (folder / "try.json").write_text(json.dumps({**names, **person}))
    (folder / "policy.yml").write_text("version: 1\n")
    (folder / "env").write_text("CARDINAL_PROT=1\n")
    monkeypatch.setattr(sys, "argv", ["cardinal try", str(folder)])
    assert main() == 2
    said = capsys.readouterr().err
    wrong = "CARDINAL_PROT is not a setting: did you mean CARDINAL_PORT?"
    assert said == f"cardinal try: Cardinal does not start ({wrong}); more is in {folder}/cardinal.log\n"


def test_a_second_start_leads_to_the_board_that_runs(
    portable: Portable, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = portable.mine / ".cardinal"
    (folder / "forge").mkdir(parents=True)
    monkeypatch.setattr(sys, "argv", ["cardinal try", str(folder)])
    with (folder / "try.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main() == 2
        (folder / "forge/ports").write_text("[[8585, 8586], [7001, 7002]]")
        (folder / "forge/key").write_text("secret")
        assert main() == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == "cardinal try: it runs already for this repository: use that one, or stop it"
    assert "use that one at http://127.0.0.1:7001/-/enter?key=secret, or stop it" in second


def test_a_first_start_that_was_killed_before_anything_was_written_is_begun_anew(portable: Portable) -> None:
    half = portable.work(
        "cardinal/1-say-hello", "Hello."
    )  # the fixture's forge is built, and not yet written
    _, world, shared = _open_store(SavedForge(portable.root), portable.branches.wanted)
    assert [item.title for item in world.project.items] == ["Say hello"]
    assert (shared, half in git(portable.ours, "rev-list", "--all")) == ({}, False)
