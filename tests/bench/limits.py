"""Raw limits of this machine: what others take for the bare step that a promise of Cardinal is made of."""

import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

from pysqlite3 import dbapi2 as sqlite
from redis import Redis
from rq import Queue, Worker
from rq.serializers import JSONSerializer

import docker
from bot.system import redis as embedded_redis
from runner.workspaces.backends.docker import Docker
from runner.workspaces.contract import DEFAULT_IMAGE
from runner.workspaces.docker.engine import engine_address
from tests.bench.figures import Figure, percentile

COMMITS, FEW_COMMITS = 2_000, 50
REQUESTS, FEW_REQUESTS = 2_000, 80
SENDERS = 4
JOBS, FEW_JOBS = 100, 5
CONTAINERS, FEW_CONTAINERS = 20, 1
BODY = b"x" * 8_000
STOP_S = 15
# An empty Flask application that keeps a request as Cardinal keeps a delivery: on disk before the answer.
FLASK = """
import sys, threading, uvicorn
from flask import Flask, request
from pysqlite3 import dbapi2 as sqlite
db = sqlite.connect(sys.argv[2], isolation_level=None, check_same_thread=False)
db.execute("PRAGMA journal_mode = wal")
db.execute("PRAGMA synchronous = FULL")
db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT)")
turn, app = threading.Lock(), Flask("raw")
@app.post("/")
@app.post("/webhooks/github")
def receive():
    body = request.get_data().decode()
    with turn:
        db.execute("INSERT INTO t (body) VALUES (?)", (body,))
    return "", 202
uvicorn.run(app, fd=int(sys.argv[1]), interface="wsgi", lifespan="off", log_config=None)
"""
# It reads the body and answers; `tests.bench.deliveries` sends to Cardinal in the same way.
SERVER = """
import sys, uvicorn
async def app(scope, receive, send):
    while (await receive()).get("more_body"): pass
    await send({"type": "http.response.start", "status": 202, "headers": []})
    await send({"type": "http.response.body", "body": b""})
uvicorn.run(app, fd=int(sys.argv[1]), lifespan="off", log_config=None)
"""


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure a commit, an empty web server, a forked job of RQ, and a container with one command."""
    with tempfile.TemporaryDirectory(prefix="cardinal-bench-") as name:
        yield _commits(Path(name), FEW_COMMITS if quick else COMMITS)
        yield from _requests(FEW_REQUESTS if quick else REQUESTS)
        yield _jobs(Path(name), FEW_JOBS if quick else JOBS)
    if not Docker().problem():  # parts that need an engine say so themselves
        yield _containers(FEW_CONTAINERS if quick else CONTAINERS)


def _commits(folder: Path, count: int) -> Figure:
    start = time.perf_counter()
    with raw_rows(folder) as insert:
        insert(count)
    took_s = time.perf_counter() - start
    return Figure("raw_sqlite_commits", count / took_s, "commits/s", note="one row each, WAL, fsync")


@contextmanager
def raw_rows(folder: Path) -> Iterator[Callable[[int], None]]:
    """Give what inserts so many rows, each in a commit on disk, as a ledger is kept."""
    db = sqlite.connect(folder / "raw.db", isolation_level=None)
    db.execute("PRAGMA journal_mode = wal")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT)")

    def insert(count: int) -> None:
        for _ in range(count):
            db.execute("INSERT INTO t (body) VALUES (?)", ("A word.",))

    try:
        yield insert
    finally:
        db.close()


def _requests(count: int) -> Iterator[Figure]:
    took_ms: list[float] = []
    with served(SERVER) as port:
        senders = [
            threading.Thread(target=_post, args=(port, count // SENDERS, took_ms)) for _ in range(SENDERS)
        ]
        start = time.perf_counter()
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        took_s = time.perf_counter() - start
    note = f"uvicorn, an empty answer; {SENDERS} senders on the same cores, 8 KB and a connection for each"
    yield Figure("raw_web_server", count / took_s, "requests/s", note=note)
    yield Figure("raw_web_server_p99", percentile(took_ms, 0.99), "ms")


@contextmanager
def served(program: str, *words: str) -> Iterator[int]:
    """Run a web server of these lines of Python with these words, and yield its port."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen(128)
        command = [sys.executable, "-W", "ignore", "-c", program, str(door.fileno()), *words]
        with subprocess.Popen(command, pass_fds=[door.fileno()]) as server:
            try:
                _post(door.getsockname()[1], 1, [])  # waits in the socket until it is up
                yield door.getsockname()[1]
            finally:
                server.terminate()
                server.wait(STOP_S)


def _post(port: int, count: int, took_ms: list[float]) -> None:
    for _ in range(count):
        start = time.perf_counter()
        line = HTTPConnection("127.0.0.1", port, timeout=30)
        line.request("POST", "/", BODY)
        status = line.getresponse().status
        line.close()
        if status != 202:
            raise RuntimeError(f"the empty web server answered with {status}")
        took_ms.append((time.perf_counter() - start) * 1000)


def _jobs(folder: Path, count: int) -> Figure:
    """Let RQ's own worker fork for each of `count` empty jobs."""
    with subprocess.Popen(embedded_redis.server_command(folder)) as server:
        try:
            redis = Redis(unix_socket_path=str(embedded_redis.socket_path(folder)))
            until = time.monotonic() + STOP_S
            while not embedded_redis.is_reachable(redis):
                if time.monotonic() > until:
                    raise TimeoutError("redis-server did not answer")
                time.sleep(0.02)
            queue = Queue("raw", connection=redis, serializer=JSONSerializer)
            for _ in range(count):
                queue.enqueue(os.getpid)
            worker = Worker([queue], connection=redis, serializer=JSONSerializer)
            start = time.perf_counter()
            worker.work(burst=True, logging_level="ERROR")
            took_s = time.perf_counter() - start
        finally:
            server.terminate()
            server.wait(STOP_S)
    return Figure("raw_rq_job", took_s / count, "s", note=f"{count} empty jobs, a fork for each")


def _containers(count: int) -> Figure:
    took = []
    with closing(docker.DockerClient(base_url=engine_address())) as client:
        for _ in range(count):
            start = time.perf_counter()
            client.containers.run(
                DEFAULT_IMAGE, ["/bin/sh", "-c", "echo here"], remove=True, network_mode="none"
            )
            took.append(time.perf_counter() - start)
    return Figure("raw_container", percentile(took, 0.5), "s", note=f"docker run --rm, the middle of {count}")
