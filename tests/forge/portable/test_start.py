"""A board whose Cardinal does not start says why, and does not end as if it had been stopped."""

import json
import signal
import sys

import pytest

from forge.portable.__main__ import _opened, main
from forge.portable.saved import SavedForge
from tests.forge.portable.conftest import Portable
from tests.runner.world import git


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
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    assert main() == 2
    for number, handler in handlers.items():
        signal.signal(number, handler)
    said = capsys.readouterr().err
    wrong = "CARDINAL_PROT is not a setting: did you mean CARDINAL_PORT?"
    assert said == f"cardinal try: Cardinal does not start ({wrong}); more is in {folder}/cardinal.log\n"


def test_a_first_start_that_was_killed_before_anything_was_written_is_begun_anew(portable: Portable) -> None:
    half = portable.work(
        "cardinal/1-say-hello", "Hello."
    )  # the fixture's forge is built, and not yet written
    _, world, shared = _opened(SavedForge(portable.root), portable.branches.wanted)
    assert [item.content.title for item in world.project.items] == ["Say hello"]
    assert (shared, half in git(portable.ours, "rev-list", "--all")) == ({}, False)
