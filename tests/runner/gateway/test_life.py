"""A gateway is a process of its own: it goes with its supervisor, and nothing of it stays."""

import contextlib
import os
import select
import signal
import socket
import time
from pathlib import Path

import psutil
import pytest
from sqlalchemy import text

from ledger.db.transactions import writing
from runner.errors import SpawnError
from runner.exec.deadline import Deadline
from runner.gateway.control import link
from runner.gateway.control.link import Gateway
from runner.gateway.control.terms import Terms
from tests.ledgers import new_ledger
from tests.runner.gateway.upstream import Answer, messages
from tests.runner.gateway.world import KEY, LIMIT_S, PATHS, TERMS, Line, ask, providers, scene
from tests.waiting import until

USAGE = {"input_tokens": 10}


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def held(pid: int) -> set[str]:
    """Return what a process has open."""
    found = set()
    for one in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            found.add(os.readlink(f"/proc/{pid}/fd/{one}"))
    return found


def test_close_leaves_no_process_socket_or_folder(tmp_path: Path) -> None:
    gateway = Gateway.spawn(tmp_path / "g", TERMS, {})
    names = {one.name: one.stat().st_mode & 0o7777 for one in gateway.folder.iterdir()}
    assert names == {"models.sock": 0o666, "network.sock": 0o666}
    assert gateway.folder.stat().st_mode & 0o7777 == 0o755
    began = time.monotonic()
    gateway.close()
    gateway.close()
    assert time.monotonic() - began < 20
    assert not psutil.pid_exists(gateway.pid)
    assert not gateway.folder.exists()


def test_a_gateway_that_does_not_obey_is_ended_with_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "_CLOSE_S", 0.1)
    gateway = Gateway.spawn(tmp_path / "g", TERMS, {})
    os.kill(gateway.pid, signal.SIGSTOP)
    gateway.close()
    assert not psutil.pid_exists(gateway.pid)


def test_a_gateway_ends_by_itself_when_its_deadline_was_not_extended(tmp_path: Path) -> None:
    deadline = Deadline()
    deadline.move(deadline.of_lease(600))
    gateway = Gateway.spawn(tmp_path / "g", TERMS, {}, deadline)
    try:
        assert not select.select([gateway.fileno()], [], [], 0.1)[0]
        deadline.move(deadline.of_lease(0.2))
        until(lambda: not alive(gateway.pid), "the gateway is gone")
    finally:
        gateway.close()


def test_the_path_of_a_socket_may_be_longer_than_a_socket_address(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["long" * 20] * 3)
    gateway = Gateway.spawn(folder, TERMS, {})
    try:
        line = Line(folder)
        line.request("HEAD", "/anthropic/api/hello")
        assert line.getresponse().status == 200
        line.close()
    finally:
        gateway.close()


def test_a_folder_that_cannot_be_made_is_a_spawn_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SpawnError, match="file"):
        Gateway.spawn(tmp_path / "file" / "g", TERMS, {})


def test_the_supervisor_notices_a_gateway_that_was_killed(tmp_path: Path) -> None:
    with scene(tmp_path) as world:
        os.kill(world.gateway.pid, signal.SIGKILL)
        world.ears.wait_end()
        world.gateway.open(turn="t", usd_left=1, tools=())
        world.gateway.shut()


def test_a_killed_supervisor_takes_its_gateway_along(tmp_path: Path) -> None:
    there, here = os.pipe()
    supervisor = os.fork()
    if not supervisor:
        gateway = Gateway.spawn(tmp_path / "g", TERMS, {})  # kept: one that nobody holds ends by itself
        os.write(here, str(gateway.pid).encode())
        signal.pause()
    pid = int(os.read(there, 20))
    assert alive(pid)
    os.kill(supervisor, signal.SIGKILL)
    os.waitpid(supervisor, 0)
    os.close(there)
    os.close(here)
    until(lambda: not alive(pid), "the gateway ends with its supervisor")


def test_a_gateway_holds_no_descriptor_of_its_parent_and_nothing_of_its_environment(tmp_path: Path) -> None:
    mine, other = socket.socketpair()
    secret = tmp_path / "open.txt"
    with secret.open("w") as file, mine, other:
        os.set_inheritable(file.fileno(), True)
        gateway = Gateway.spawn(tmp_path / "g", TERMS, providers("http://127.0.0.1:9"))
        second = Gateway.spawn(tmp_path / "h", TERMS, {})
        try:
            until(lambda: "open.txt" not in " ".join(held(second.pid)), "it keeps its parent's file")
            line = Line(second.folder)  # once it answers, it has all that it will ever have
            line.request("HEAD", "/")
            assert line.getresponse().status == 200
            line.close()
            sockets = [one for one in held(second.pid) if one.startswith("socket:")]
            assert len(sockets) <= 6, sockets  # its line, two listeners, the loop's own pair, that connection
            other.close()
            assert mine.recv(1) == b""
            assert KEY not in " ".join(psutil.Process(gateway.pid).cmdline())
            assert KEY.encode() not in Path(f"/proc/{gateway.pid}/environ").read_bytes()
            gateway.close()
            assert alive(second.pid)
        finally:
            gateway.close()
            second.close()


def test_a_database_stays_usable_on_both_sides_of_the_fork(tmp_path: Path) -> None:
    engine = new_ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    with writing(engine) as db:
        db.execute(text("create table t (x integer)"))
        db.execute(text("insert into t values (1)"))
        gateway = Gateway.spawn(tmp_path / "g", TERMS, {})  # in the middle of a transaction
        db.execute(text("insert into t values (2)"))
    gateway.close()
    with writing(engine) as db:
        db.execute(text("insert into t values (3)"))
        assert db.execute(text("select sum(x) from t")).scalar() == 6
        assert db.execute(text("pragma integrity_check")).scalar() == "ok"
    engine.dispose()


def test_a_gateway_is_the_first_to_go_without_memory_and_hears_no_terminal(tmp_path: Path) -> None:
    gateway = Gateway.spawn(tmp_path / "g", TERMS, {})
    try:
        assert Path(f"/proc/{gateway.pid}/oom_score_adj").read_text().strip() == "800"
        assert os.getsid(gateway.pid) == gateway.pid
        assert psutil.Process(gateway.pid).rlimit(psutil.RLIMIT_CORE) == (0, 0)
    finally:
        gateway.close()


def test_many_gateways_share_the_memory_of_their_parent(tmp_path: Path) -> None:
    gateways = [Gateway.spawn(tmp_path / str(number), TERMS, {}) for number in range(8)]
    try:
        for gateway in gateways:
            line = Line(gateway.folder)
            line.request("GET", "/anthropic/v1/models")
            assert line.getresponse().status == 200
            line.close()
        own = [psutil.Process(one.pid).memory_full_info().uss for one in gateways]
        assert max(own) < 30_000_000
    finally:
        for gateway in gateways:
            gateway.close()


def test_a_flood_of_orders_and_replies_breaks_nothing(tmp_path: Path) -> None:
    with scene(tmp_path) as world:
        world.upstream.answers.append(Answer(messages("hi", usage=USAGE)))
        for number in range(300):
            world.gateway.reply(f"nobody asked {number}", {"text": "x" * 70_000})
            world.open()
        assert world.post(PATHS["messages"], ask()).status == 200


def test_bytes_that_are_no_request_harm_nobody(tmp_path: Path) -> None:
    with scene(tmp_path) as world:
        world.upstream.answers.append(Answer(messages("hi", usage=USAGE)))
        for junk in (
            b"\x00" * 100_000,
            b"GET / HTTP/9.9\r\n\r\n",
            b"POST / HTTP/1.1\r\nx: " + b"y" * 200_000,
        ):
            line = Line(world.gateway.folder)
            line.connect()
            with contextlib.suppress(OSError):
                line.sock.sendall(junk)
                line.sock.settimeout(LIMIT_S)
                line.sock.recv(100)
            line.close()
        assert world.post(PATHS["messages"], ask()).status == 200


def test_terms_without_models_allow_none(tmp_path: Path) -> None:
    with scene(tmp_path, Terms(models=())) as world:
        assert world.post(PATHS["messages"], ask()).status == 400
