"""A Cardinal that is not root: what runs inside has its own id, and still nothing more."""

import os
import shutil
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from ledger.ids import CardId, RunId
from runner.workspaces.backends.docker import Docker
from runner.workspaces.contract import Tenancy
from runner.workspaces.docker.engine import engine_address
from tests.containers.engine import SMALL, Bench, Relay, places_in, sh

UID = 4321


def as_plain_user(work: Callable[[], None]) -> int:
    """Do `work` in a fork that is nobody special, and return its exit code; root only."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setgroups([])
            os.setresgid(UID, UID, UID)
            os.setresuid(UID, UID, UID)
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_it_works_as_its_own_user(bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:
    if os.geteuid() != 0:  # then every other test here has shown it already
        return
    # Not pytest's folder, which nobody else may enter.
    home = Path(tempfile.mkdtemp())
    os.chown(home, UID, UID)
    relay = Relay(str(home / "door.sock"), engine_address().removeprefix("unix://"))
    (home / "door.sock").chmod(0o666)

    def work() -> None:
        backend = Docker(lambda: f"unix://{home}/door.sock")
        assert backend.problem() == "", backend.problem()
        tenancy = Tenancy(CardId("c"), RunId("r"), 1, resources=SMALL)
        workspace = backend.open(places_in(home), tenancy)
        told = sh(
            workspace,
            "id -u; id -un; echo made > x; grep CapEff /proc/self/status; touch /player/x || echo no",
        )
        assert told.out.split() == [str(UID), "agent", "CapEff:", "0" * 16, "no"], told
        assert (home / "workspaces" / "c" / "repo" / "x").stat().st_uid == UID
        sh(workspace, "mkdir -p shut/in && chmod 0 shut")
        workspace.destroy()
        assert not (home / "workspaces" / "c").exists()

    try:
        code = as_plain_user(work)
    finally:
        relay.stop()
        shutil.rmtree(home)
    assert code == 0, capfd.readouterr().err
