"""One connection among the threads of a web server: each call goes out as it was made."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from bot.github.errors import UnavailableError
from bot.github.rate_limit import ApiBudget, CallResult
from bot.github.shared_records import FileRecords
from bot.github.token_scope import TokenScope
from bot.github.transport import READ, ApiCall, CallSlots, Wire
from tests.bot.github.conftest import Clock

OPEN, HIDDEN = (TokenScope(f"acme/{name}") for name in ("open", "hidden"))


class Echo(BaseHTTPRequestHandler):
    """Answers with what was asked for, and with which token."""

    def do_GET(self) -> None:
        body = json.dumps([self.path, self.headers["Authorization"]]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@dataclass(frozen=True)
class Meanwhile(CallSlots):
    """Another thread sends its call whole, before the first one's is sent."""

    other: Callable[[], object] = print

    @contextmanager
    def hold(self, call: str) -> Iterator[None]:
        if "hidden" not in call:
            thread = Thread(target=self.other)
            thread.start()
            thread.join(60)
        yield


@pytest.fixture
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        serving = Thread(target=server.serve_forever)
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        serving.join(60)


def test_a_call_keeps_its_token_while_another_thread_sends_one(
    address: str, clock: Clock, tmp_path: Path
) -> None:
    def call(scope: TokenScope) -> list[str]:
        answer: list[str] = wire.send(ApiCall("GET", f"/repos/{scope.repository}", READ, reach=scope)).body
        return answer

    echoed = list[list[str]]()
    slots = Meanwhile(tmp_path, other=lambda: echoed.append(call(HIDDEN)))
    wire = Wire(address, lambda scope: scope.repository if scope else "", clock, None, 5.0, places=slots)
    echoed.append(call(OPEN))
    assert echoed == [["/repos/acme/hidden", "Bearer acme/hidden"], ["/repos/acme/open", "Bearer acme/open"]]


def test_each_call_that_is_sent_is_counted_by_what_became_of_it(
    address: str, clock: Clock, tmp_path: Path
) -> None:
    budget = ApiBudget(FileRecords(tmp_path / "shared", clock), "App 7 at acme")
    slots = CallSlots(tmp_path / "calls")
    Wire(address, lambda _: "", clock, budget, 5.0, places=slots).send(
        ApiCall("GET", "/repos/acme/app", READ)
    )
    with pytest.raises(UnavailableError):
        Wire("http://127.0.0.1:1", lambda _: "", clock, budget, 5.0, places=slots).send(
            ApiCall("GET", "/repos/acme/app", READ)
        )
    usage, _ = budget.read_usage()
    assert usage.calls == {CallResult.OK: 1, CallResult.UNREACHABLE: 1}
    assert sum(usage.took.values()) == 2
    assert 0 < usage.took_s < 5
