"""What the tests of the edge stand on: a ledger, a configuration and a Redis of their own, all real."""

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis
from sqlalchemy import Engine

from bot.system import config as configuration
from bot.system import redis as embedded_redis
from bot.system.config import Config
from runner.exec.launch import die_with_parent
from tests import warm
from tests.ledgers import new_ledger
from tests.waiting import until

SECRET = "it is signed with this"


@pytest.fixture
def config(tmp_path: Path) -> Config:
    environ = {
        "CARDINAL_HOME": str(tmp_path / "home"),
        "CARDINAL_WEBHOOK_SECRET": SECRET,
        "CARDINAL_PORT": "0",
    }
    return configuration.read(environ, tmp_path)


@pytest.fixture
def engine(config: Config) -> Iterator[Engine]:
    engine = new_ledger(config.database_url)
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a program `cardinal` that tests do not wait for."""
    with warm.program(tmp_path_factory.mktemp("program")) as path:
        yield path


@pytest.fixture
def redis_server(config: Config) -> Iterator[subprocess.Popen[bytes]]:
    """Start the embedded Redis with its own command line, and wait until it answers."""
    server = start_redis(config)
    yield server
    server.kill()
    server.wait(60)


@pytest.fixture
def redis(config: Config, redis_server: subprocess.Popen[bytes]) -> Iterator[Redis]:
    client = embedded_redis.connect_redis(config)
    yield client
    client.close()


def start_redis(config: Config) -> subprocess.Popen[bytes]:
    """Return a started Redis that answers."""
    command = die_with_parent(embedded_redis.server_command(config.home), env=os.environ, cwd=Path.cwd())
    server = subprocess.Popen(command)
    client = embedded_redis.connect_redis(config)
    until(lambda: embedded_redis.is_reachable(client), "redis-server answers")
    client.close()
    return server


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port
