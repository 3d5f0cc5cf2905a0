"""The web server as it runs: real sockets, real processes, and deliveries that outlive both."""

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urlsplit

import psutil
import pytest
from sqlalchemy import Engine

from bot.daemon import web_server as web
from bot.system.config import Config
from ledger.queue import inbox
from tests.bot.conftest import SECRET
from tests.bot.daemon.test_group import alive, lines, until
from tests.bot.web.test_webhook import BODY, sign


@pytest.fixture
def server(config: Config, engine: Engine) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    environ = os.environ | {
        "CARDINAL_HOME": str(config.home),
        "CARDINAL_WEBHOOK_SECRET": SECRET,
        "CARDINAL_PORT": "0",
    }
    command = [sys.executable, "-m", "tests.bot.daemon.web_alone"]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        lines(process, "web-1 ready")
        yield process, address
        process.terminate()
        assert process.wait(10) == 0


def connection(address: str) -> http.client.HTTPConnection:
    place = urlsplit(address)
    return http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)


def post(address: str, delivery_id: str, body: bytes = BODY, **more: object) -> int:
    talk = connection(address)
    headers = {
        "X-GitHub-Event": "issues",
        "X-GitHub-Delivery": delivery_id,
        "X-Hub-Signature-256": sign(body),
        "Content-Type": "application/json",
    }
    try:
        talk.request("POST", "/webhooks/github", body, headers)
        return talk.getresponse().status
    finally:
        talk.close()


def test_a_delivery_is_on_disk_when_its_202_arrives_even_if_all_is_killed_then(
    server: tuple["subprocess.Popen[str]", str], engine: Engine
) -> None:
    process, address = server
    assert post(address, "d-1") == 202
    for victim in psutil.Process(process.pid).children(recursive=True):
        victim.kill()
    assert inbox.due(engine, limit=10) == ("d-1",)


def test_a_delivery_sent_while_the_server_is_dead_waits_for_the_next_one(
    server: tuple["subprocess.Popen[str]", str], engine: Engine
) -> None:
    process, address = server
    (web,) = psutil.Process(process.pid).children()
    web.kill()
    until(lambda: not alive(web.pid))
    assert post(address, "d-2") == 202
    assert "d-2" in inbox.due(engine, limit=10)


def test_health_is_answered(server: tuple["subprocess.Popen[str]", str]) -> None:
    talk = connection(server[1])
    talk.request("GET", "/healthz")
    assert json.load(talk.getresponse()) == {"ok": True, "events": 0}
    talk.close()


def test_a_body_without_a_length_is_cut_off_at_25_mb(
    server: tuple["subprocess.Popen[str]", str], engine: Engine
) -> None:
    talk = connection(server[1])
    talk.putrequest("POST", "/webhooks/github")
    talk.putheader("Transfer-Encoding", "chunked")
    talk.putheader("X-Hub-Signature-256", sign(BODY))
    talk.putheader("Content-Type", "application/json")
    talk.endheaders()
    megabyte = b"100000\r\n" + b"x" * 2**20 + b"\r\n"
    try:
        for _ in range(26):
            talk.send(megabyte)
        talk.send(b"0\r\n\r\n")
    except (BrokenPipeError, ConnectionResetError):
        pass  # it may hang up before all is sent
    else:
        assert talk.getresponse().status == 413
    finally:
        talk.close()
    assert inbox.due(engine, limit=10) == ()


def test_a_taken_address_is_one_sentence(config: Config) -> None:
    with web.bind(config) as listener:
        taken = replace(config, port=listener.getsockname()[1])
        with pytest.raises(web.AddressTakenError, match="CARDINAL_PORT"):
            web.bind(taken)


def test_a_stop_lets_the_server_end_by_itself(server: tuple["subprocess.Popen[str]", str]) -> None:
    process, _ = server
    everyone = psutil.Process(process.pid).children(recursive=True)
    assert len(everyone) == 1
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    assert not any(alive(one.pid) for one in everyone)
