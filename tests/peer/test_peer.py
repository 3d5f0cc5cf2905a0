"""The peer itself: fetched at its pinned version, on this machine only, gone with the session."""

import json
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.peer.emulator import ROOT, command
from tests.peer.side import Side

LOCK = Path(__file__).parent / "package-lock.json"


def test_the_peer_listens_on_loopback_alone(peer: Side) -> None:
    opened = psutil.Process(peer.pid).net_connections(kind="inet")
    listening = [one.laddr for one in opened if one.status == psutil.CONN_LISTEN]
    assert [one.ip for one in listening] == ["127.0.0.1"]


def test_what_runs_is_the_version_that_is_pinned(peer: Side) -> None:
    _, program = command()
    package = json.loads((Path(program).parents[1] / "package.json").read_text(encoding="utf-8"))
    wanted = json.loads((LOCK.parent / "package.json").read_text(encoding="utf-8"))["dependencies"]
    assert package["version"] == wanted[package["name"]]


def test_the_lock_has_a_hash_for_everything_and_an_address_for_nothing() -> None:
    packages = json.loads(LOCK.read_text(encoding="utf-8"))["packages"]
    fetched = {name: one for name, one in packages.items() if name}
    assert all(one["integrity"].startswith("sha512-") for one in fetched.values())
    assert not any("resolved" in one for one in fetched.values())
    assert all(version[0].isdigit() for version in packages[""]["dependencies"].values())


def test_where_it_was_not_fetched_a_person_is_told_what_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match="run scripts/peer"):
        command()
    assert list(tmp_path.iterdir()) == [], "asking where it is fetches nothing"


def test_the_script_refuses_an_option_that_it_does_not_know() -> None:
    refused = subprocess.run([ROOT / "scripts/peer", "--wher"], capture_output=True, timeout=60, check=False)
    assert refused.returncode == 2
