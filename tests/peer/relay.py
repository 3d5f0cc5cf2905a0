"""The webhook's address during a session: keeps every delivery as it came, and hands it on where a test says.

`emulate` names deliveries by the millisecond, so two can have one name. Cardinal takes the second for a
repeat, as it should; where the peer sends, the relay gives each a name of its own, and changes nothing else.
"""

import json
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import requests

WAIT_S = 60  # a busy machine is slow; what comes, comes at once
HAND_ON_S = 60  # longer than either side waits for its answer: what it gave up is handed on all the same
HOP = {"host", "connection", "content-length", "transfer-encoding", "accept-encoding"}


@dataclass(frozen=True, slots=True)
class Delivery:
    """One webhook request: header names in lower case, the raw body, and the answer that it got."""

    headers: Mapping[str, str]
    raw: bytes
    answered: int

    @property
    def event(self) -> str:
        return self.headers["x-github-event"]

    @property
    def payload(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.raw)
        return found

    def is_about(self, repository: str) -> bool:
        return bool((self.payload.get("repository") or {}).get("full_name") == repository)


@dataclass
class Relay:
    """`renames`: give each delivery a GUID of its own. `target`: who gets them; nobody when empty."""

    renames: bool
    target: str = ""
    url: str = ""
    got: list[Delivery] = field(default_factory=list)
    _arrived: threading.Condition = field(default_factory=threading.Condition)

    def of(self, repository: str, event: str, action: str | None = None) -> list[Delivery]:
        """Return the deliveries of one event in a repository so far."""
        with self._arrived:
            deliveries = [one for one in self.got if one.event == event and one.is_about(repository)]
        return [one for one in deliveries if action is None or one.payload.get("action") == action]

    def wait(self, repository: str, event: str, action: str | None = None, count: int = 1) -> list[Delivery]:
        """Return the deliveries of one event, once there are `count` of them."""
        with self._arrived:
            enough = self._arrived.wait_for(lambda: len(self.of(repository, event, action)) >= count, WAIT_S)
        came = [(one.event, one.payload.get("action")) for one in self.got if one.is_about(repository)]
        assert enough, f"no {event}.{action}; came: {came}"
        return self.of(repository, event, action)

    def take(self, headers: Mapping[str, str], raw: bytes) -> int:
        """Hand a delivery on, keep it, and return the status that its sender hears."""
        answered = self._hand_on(headers, raw) if self.target else 202
        with self._arrived:
            self.got.append(Delivery(headers, raw, answered))
            self._arrived.notify_all()
        return answered

    def _hand_on(self, headers: Mapping[str, str], raw: bytes) -> int:
        named = {"x-github-delivery": str(uuid.uuid4())} if self.renames else {}
        sent = {name: value for name, value in headers.items() if name not in HOP} | named
        return requests.post(self.target, data=raw, headers=sent, timeout=HAND_ON_S).status_code


@contextmanager
def relaying(*, renames: bool) -> Iterator[Relay]:
    """Open a relay on loopback."""
    relay = Relay(renames, _arrived=threading.Condition(threading.RLock()))

    class Door(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            self.send_response(relay.take(headers, raw))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    relay.url = f"http://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield relay
    finally:
        server.shutdown()
        thread.join(WAIT_S)
        server.server_close()
