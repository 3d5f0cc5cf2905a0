"""`cardinal up` as a whole: it comes up, stays up whatever dies, and leaves nothing behind."""

import json
import os
import signal
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from sqlalchemy import Engine

from bot.daemon import standby
from bot.daemon import up as up_command
from bot.daemon.up import NoRedisError, serve, work
from bot.scheduler import queues
from bot.system import config as configuration
from bot.system import lock_file
from bot.system import redis as embedded_redis
from bot.system.config import Config
from bot.system.lock_file import ChangingHomeError, Presence
from forge.seed import load
from forge.web.server import Forge
from ledger.ids import DeliveryId
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from ledger.queue import hosts, inbox
from ledger.queue.inbox import Delivery
from tests.bot.conftest import SECRET, start_redis
from tests.bot.daemon.test_group import alive
from tests.bot.daemon.test_web_server import post
from tests.bot.ingest.samples import sample
from tests.bot.system.test_lock_file import hold_elsewhere
from tests.ledger.older import make_older
from tests.ledgers import new_ledger
from tests.waiting import until
from tests.warm import Warm, cardinal

DELIVERY = json.dumps(sample("issues", action="pinned")).encode()
PARTS = {"redis", "web-1", "standby", "ticker"}  # workers come when they are needed


@pytest.fixture(scope="module")
def key() -> str:
    made = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return made.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()


@pytest.fixture
def environ(tmp_path: Path, key: str) -> dict[str, str]:
    """Return the settings of a Cardinal whose GitHub does not answer."""
    return {
        "PATH": os.environ["PATH"],
        "CARDINAL_HOME": str(tmp_path / "home"),
        "CARDINAL_PORT": "0",
        "CARDINAL_GITHUB_URL": "http://127.0.0.1:1",
        "CARDINAL_WEBHOOK_SECRET": SECRET,
        "CARDINAL_APP_ID": "1",
        "CARDINAL_PRIVATE_KEY": key,
        "CARDINAL_BOARD": "acme/1",
        "CARDINAL_LOG_LEVEL": "error",
        "CARDINAL_WORKSPACE": "local",
        "PYTHONPATH": str(Path(__file__).parents[3]),
    }


@contextmanager
def up(
    environ: dict[str, str],
    cwd: Path,
    *words: str,
    parts: Collection[str] = PARTS,
    runs: Callable[..., None] = cardinal,
) -> Iterator[Warm]:
    """Run `cardinal up`, or another command, until the block ends; yields once all `parts` are ready."""
    process = Warm(runs, *(words or ("up",)), cwd=cwd, env=environ)
    try:
        ready: set[str] = set()
        for line in process.stdout:
            if " ready " in line:
                ready.add(line.split()[0])
            if ready.issuperset(parts):  # workers come when a tick or a delivery wants one
                break
        assert ready.issuperset(parts)
        yield process
    finally:
        process.kill()
        process.wait(60)
        process.close()


@pytest.fixture
def config(environ: dict[str, str], tmp_path: Path) -> Config:
    return configuration.read(environ, tmp_path)


def seen(config: Config) -> Presence:
    presence = lock_file.read_presence(config.home)
    assert presence is not None
    return presence


def everyone(process: Warm) -> list[int]:
    return [one.pid for one in psutil.Process(process.pid).children(recursive=True)]


def test_it_stops_clean_and_leaves_nothing(environ: dict[str, str], tmp_path: Path, config: Config) -> None:
    with up(environ, tmp_path) as process:
        presence = seen(config)
        assert set(presence.parts) >= PARTS
        assert all(alive(presence.parts[name]) for name in PARTS)  # a worker may have gone to rest
        assert post(presence.address, "d-1") == 202
        pids = everyone(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert not any(alive(pid) for pid in pids)
    assert lock_file.read_presence(config.home) is None
    assert not embedded_redis.is_reachable(embedded_redis.connect_redis(config))


def test_nothing_of_it_outlives_a_kill(environ: dict[str, str], tmp_path: Path, config: Config) -> None:
    with up(environ, tmp_path) as process:
        pids = everyone(process)
        process.kill()
        process.wait(60)
        until(lambda: not any(alive(pid) for pid in pids), "its processes are gone")
    assert lock_file.read_presence(config.home) is None


def test_every_part_that_is_killed_comes_back(
    environ: dict[str, str], tmp_path: Path, config: Config
) -> None:
    with up(environ, tmp_path) as process:
        before = {name: pid for name, pid in seen(config).parts.items() if name in PARTS}
        for pid in before.values():
            psutil.Process(pid).kill()

        def all_new() -> bool:
            now = seen(config).parts
            return set(now) >= PARTS and not set(now.values()) & set(before.values())

        until(all_new, "all have started again")
        until(lambda: embedded_redis.is_reachable(embedded_redis.connect_redis(config)), "Redis answers")
        until(lambda: post(seen(config).address, "d-2") == 202, "a delivery is taken")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def with_an_impatient_group(*words: str) -> None:
    """Be the command, with a group that waits for its standby a moment only."""
    up_command.STANDBY_SILENT_S, standby.LISTEN_S = 2.0, 1
    cardinal(*words)


def test_a_standby_that_is_stopped_is_replaced_and_workers_come(
    environ: dict[str, str], tmp_path: Path, config: Config
) -> None:
    with up(environ, tmp_path, runs=with_an_impatient_group) as process:
        psutil.Process(seen(config).parts["standby"]).suspend()
        redis = embedded_redis.connect_redis(config)
        assert queues.request(redis, "publish", "c1", name=queues.QueueName.ASSIST)
        until(lambda: not len(queues.queue(redis, queues.QueueName.ASSIST)), "a worker takes the wake-up")
        said = []
        for line in process.stdout:
            said.append(line.strip())
            if line.startswith("standby ready"):
                break
        assert "standby gave no sign of life for 2 s: it is killed" in said


def test_a_delivery_that_met_no_redis_is_ingested_after_all(
    environ: dict[str, str], tmp_path: Path, config: Config
) -> None:
    forge = Forge(tmp_path / "forge").start()
    world = load(forge.store, "demo").registration()
    environ |= {
        "CARDINAL_GITHUB_URL": forge.url,
        "CARDINAL_APP_ID": str(world["app_id"]),
        "CARDINAL_PRIVATE_KEY": world["pem"],
        "CARDINAL_TICK_S": "0.1",
    }
    with up(environ, tmp_path) as process:
        psutil.Process(seen(config).parts["redis"]).kill()
        assert post(seen(config).address, "d-3", DELIVERY) == 202
        engine = open_ledger(config.database_url, migrate=False)
        until(lambda: counted(engine)["done"] == 1, "the delivery is ingested")
        engine.dispose()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    forge.stop()


def slots_of_hosts(config: Config) -> list[int]:
    engine = open_ledger(config.database_url, migrate=False)
    with event_store.reading(engine) as db:
        slots = [row.slots for row in hosts.list_hosts(db).rows]
    engine.dispose()
    return slots


def store_delivery(config: Config) -> None:
    """Let a delivery wait: a tick asks for it after the heartbeat."""
    engine = open_ledger(config.database_url)
    inbox.store_deliveries(engine, Delivery(DeliveryId("d"), "ping", "", b"{}", datetime.now(UTC)))
    engine.dispose()


def has_ticked(config: Config) -> bool:
    return bool(embedded_redis.connect_redis(config).exists(queues.mark_key("ingest-d")))


def is_sought(config: Config) -> bool:
    """Tell whether GitHub is to be asked for deliveries that the ledger lost."""
    engine = open_ledger(config.database_url, migrate=False)
    with event_store.reading(engine) as db:
        since = inbox.search_start(db)
    engine.dispose()
    return since is not None


def counted(engine: Engine) -> dict[str, int]:
    with event_store.reading(engine) as db:
        return inbox.delivery_counts(db)


@pytest.mark.parametrize(
    ("words", "parts", "lacks", "beats"),
    [
        (("serve",), {"web-1"}, ("APP_ID", "PRIVATE_KEY", "BOARD"), False),
        (("work", "publish"), {"standby", "ticker"}, (), False),
        (("work", "runs", "--no-ticks"), {"standby", "heartbeat"}, (), True),
    ],
)
def test_serve_and_work_run_their_own_parts_with_what_these_need_only(
    environ: dict[str, str],
    tmp_path: Path,
    config: Config,
    words: tuple[str, ...],
    parts: set[str],
    lacks: tuple[str, ...],
    beats: bool,
) -> None:
    """A host is known where runs work, with ticks or without; a ticker has lost deliveries sought."""
    store_delivery(config)
    redis = start_redis(config)
    for name in lacks:
        del environ[f"CARDINAL_{name}"]
    with up(environ, tmp_path, *words, parts=parts) as process:
        assert len(psutil.Process(process.pid).children()) == len(parts)
        if "ticker" in parts:
            until(lambda: has_ticked(config), "the host has ticked")
            assert is_sought(config)
        if beats:
            until(lambda: slots_of_hosts(config) == [2], "the host is listed")
        else:
            assert slots_of_hosts(config) == []
        pids = everyone(process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert not any(alive(pid) for pid in pids)
    redis.kill()
    redis.wait(60)


def test_an_older_ledger_is_backed_up_beside_it(
    environ: dict[str, str], tmp_path: Path, config: Config
) -> None:
    make_older(new_ledger(config.database_url))
    said: list[str] = []
    with pytest.raises(NoRedisError):
        work(environ, tmp_path, said.append, names=(), tick=False)
    (copy,) = (config.home / "data").glob("upgrade-from-*")
    assert str(copy) in said[0]


def test_neither_web_server_nor_workers_start_while_the_home_is_changed(
    environ: dict[str, str], tmp_path: Path, config: Config
) -> None:
    with hold_elsewhere(config.home, "hold_alone") as change:
        with pytest.raises(ChangingHomeError):
            work(environ, tmp_path, print, names=(), tick=False)
        with pytest.raises(ChangingHomeError):
            serve(environ, tmp_path, print)
        change.kill()


def test_a_second_one_in_the_same_home_is_refused(
    environ: dict[str, str], tmp_path: Path, config: Config
) -> None:
    with up(environ, tmp_path):
        second = Warm(cardinal, "up", cwd=tmp_path, env=environ)
        assert "is already running" in second.stdout.read()
        assert second.wait(60) == 2
        second.close()
        assert len(queues.queue(embedded_redis.connect_redis(config), "runs")) >= 0
