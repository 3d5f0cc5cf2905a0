"""How many signed deliveries the real web server takes, each answered only when it is on disk."""

import hashlib
import hmac
import http.client
import json
import socket
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

from sqlalchemy import func, select

from bot.system import config as configuration
from forge.demo.launch import Scene
from ledger.db.tables import inbox
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from tests.bench.figures import Figure, percentile
from tests.bench.limits import FLASK, served
from tests.bench.world import running

DELIVERIES, FEW = 2_000, 80  # bounded: a look at the door, not a flood
CROWD = 500
PROCESSES = 2  # that take deliveries: Python keeps each to one core
SENDERS = 4  # GitHub sends several at once
PADDING = "x" * 8_000  # about what a real delivery weighs
EVENT = "star"  # one that Cardinal stores and needs nothing else for


def measure(*, quick: bool) -> Iterator[Figure]:
    """Send from several connections as fast as they are answered, then count what is on disk."""
    count = FEW if quick else DELIVERIES
    raw = _flask_insert(count)
    with running(settings={"CARDINAL_WEB_PROCESSES": str(PROCESSES)}) as scene:
        took_ms: list[float] = []
        secret = configuration.read(scene.environment, scene.home).webhook_secret.reveal().encode()
        per_s = _rate(scene.cardinal_url, secret, count, took_ms)
        stored = _stored(scene)
        with _crowd(scene):
            beside_ms: list[float] = []
            _send(scene.cardinal_url, secret, FEW, beside_ms)
    note = f"{SENDERS} connections at once, 8 KB each, sender on the same cores"
    yield Figure("raw_flask_insert", raw, "requests/s", note=f"Flask and one row with fsync; {note}")
    note = f"{stored} of {count} on disk, {PROCESSES} web processes, workers at work; {note}"
    yield Figure("deliveries_accepted", per_s, "deliveries/s", note=note, least=1_000, raw="raw_web_server")
    note = "deliveries accepted, of the requests of an empty Flask application that inserts a row with fsync"
    yield Figure("deliveries_of_raw_flask", per_s / raw, "of its rate", note=note, least=0.95)
    yield Figure("delivery_p50", percentile(took_ms, 0.5), "ms")
    yield Figure("delivery_p99", percentile(took_ms, 0.99), "ms", 15, raw="raw_web_server_p99")
    yield Figure("deliveries_lost", count - stored, "deliveries", 0)
    note = f"the longest of {FEW}, beside {CROWD} clients: silent, in the middle of a head, or of a body"
    yield Figure("delivery_beside_a_crowd", max(beside_ms), "ms", 1_000, note=note)


@contextmanager
def _crowd(scene: Scene) -> Iterator[None]:
    """Hold connections open that are never done."""
    address = urlsplit(scene.cardinal_url)
    half = b"POST /webhooks/github HTTP/1.1\r\nHost: a\r\nContent-Length: 9000\r\n\r\n{"
    with ExitStack() as until_then:
        for n in range(CROWD):
            talk = socket.create_connection((address.hostname or "", address.port or 80), timeout=10)
            until_then.enter_context(talk).sendall((b"", b"POST /webh", half)[n % 3])
        yield


def _flask_insert(count: int) -> float:
    """Return how many of the same requests a second an empty Flask application keeps on disk."""
    with (
        tempfile.TemporaryDirectory(prefix="cardinal-bench-") as folder,
        served(FLASK, f"{folder}/raw.db") as port,
    ):
        return _rate(f"http://127.0.0.1:{port}", b"secret", count, [])


def _rate(url: str, secret: bytes, count: int, took_ms: list[float]) -> float:
    """Send from several connections; return how many deliveries were answered each second."""
    senders = [
        threading.Thread(target=_send, args=(url, secret, count // SENDERS, took_ms)) for _ in range(SENDERS)
    ]
    start = time.perf_counter()
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    return count / (time.perf_counter() - start)


def _send(url: str, secret: bytes, count: int, took_ms: list[float]) -> None:
    address = urlsplit(url)
    for n in range(count):
        body = json.dumps({"action": "created", "number": n, "padding": PADDING}).encode()
        headers = {
            "Content-Type": "application/json",
            "X-GitHub-Event": EVENT,
            "X-GitHub-Delivery": str(uuid.uuid4()),
            "X-Hub-Signature-256": "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest(),
        }
        start = time.perf_counter()
        door = http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)
        door.request("POST", "/webhooks/github", body, headers)
        answer = door.getresponse()
        answer.read()
        door.close()
        if answer.status != 202:
            raise RuntimeError(f"a delivery was answered with {answer.status}")
        took_ms.append((time.perf_counter() - start) * 1000)


def _stored(scene: Scene) -> int:
    engine = open_ledger(f"sqlite:///{scene.home / '.cardinal/data/ledger.db'}", migrate=False)
    try:
        with event_store.reading(engine) as db:
            return int(db.scalar(select(func.count()).select_from(inbox).where(inbox.c.event == EVENT)) or 0)
    finally:
        engine.dispose()
