"""The embedded Redis: a private socket, no port, nothing on disk, wherever the home is."""

import os
import stat
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from threading import Timer

import psutil
import pytest
from redis import Redis
from redis.exceptions import RedisError

from bot.system import redis as embedded_redis
from bot.system.config import Config
from tests.bot.conftest import start_redis
from tests.wire import wire_to


def test_it_listens_on_a_socket_of_this_user_only_and_on_no_port(
    config: Config, redis_server: "subprocess.Popen[bytes]"
) -> None:
    socket = embedded_redis.socket_path(config.home)
    assert socket.parent == config.home / "run"
    assert stat.S_IMODE(socket.stat().st_mode) & 0o077 == 0
    assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
    kinds = {connection.family.name for connection in psutil.Process(redis_server.pid).net_connections("all")}
    assert kinds == {"AF_UNIX"}


def test_it_keeps_nothing_on_disk(
    config: Config, redis: Redis, redis_server: "subprocess.Popen[bytes]"
) -> None:
    redis.set("a", "1")
    redis_server.terminate()
    redis_server.wait(60)
    assert [path.name for path in config.home.rglob("*") if path.suffix in {".rdb", ".aof"}] == []


def test_without_one_on_the_path_a_current_valkey_is_started(
    config: Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    program, *_ = embedded_redis.server_command(config.home)
    told = subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    # 9.1.1 has security fixes: github.com/valkey-io/valkey/releases/tag/9.1.1
    assert tuple(map(int, told.split(" v=")[1].split()[0].split("."))) >= (9, 1, 1)


@pytest.mark.parametrize("name", ["long" * 30, "my project", "a=b"])
def test_a_home_with_any_path_works_too(config: Config, tmp_path: Path, name: str) -> None:
    home = tmp_path / name
    deep = replace(config, home=home)
    socket = embedded_redis.socket_path(home)
    assert len(os.fsencode(socket)) <= embedded_redis.SOCKET_PATH_BYTES
    server = start_redis(deep)
    try:
        assert embedded_redis.connect_redis(deep).client_info()
    finally:
        server.terminate()
        server.wait(60)
        socket.parent.rmdir()


def test_a_folder_that_is_a_link_to_elsewhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "mine").symlink_to(tmp_path / "theirs")
    with pytest.raises(embedded_redis.SocketFolderError):
        embedded_redis.make_private(tmp_path / "mine")


def test_no_redis_is_no_answer(config: Config) -> None:
    assert not embedded_redis.is_reachable(embedded_redis.connect_redis(config))


def test_the_operators_own_redis_is_used_when_one_is_set(config: Config) -> None:
    client = embedded_redis.connect_redis(replace(config, redis_url="redis://127.0.0.1:1/3"))
    assert client.connection_pool.connection_kwargs["db"] == 3
    assert not embedded_redis.is_reachable(client)


def test_who_waits_for_a_job_notices_that_the_other_machine_is_gone(
    config: Config, redis_server: "subprocess.Popen[bytes]"
) -> None:
    with wire_to(str(embedded_redis.socket_path(config.home))) as wire:
        client = embedded_redis.connect_redis(replace(config, redis_url=f"redis://127.0.0.1:{wire.port}"))
        # as RQ does for its worker, which waits longer than a command may take
        client.connection_pool.connection_kwargs["socket_timeout"] = 120
        Timer(0.2, wire.cut).start()
        began = time.monotonic()
        with pytest.raises(RedisError):
            client.blpop(["queue"], timeout=60)
        assert time.monotonic() - began < 60  # as long as it would have waited
        wire.mend()
        assert embedded_redis.is_reachable(client)
        client.close()


@pytest.mark.parametrize("url", ["unix:///nowhere/redis.sock", "redis://127.0.0.1:1"])
def test_a_redis_of_the_operator_may_have_any_kind_of_address(config: Config, url: str) -> None:
    assert not embedded_redis.is_reachable(embedded_redis.connect_redis(replace(config, redis_url=url)))
