"""The web server as it runs: real sockets, real processes, and deliveries that outlive both."""

import http.client
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
from sqlalchemy import Engine

from bot.daemon import web_server as web
from bot.system.config import Config
from bot.web.small_request import SMALL_BYTES
from ledger.db.transactions import writing
from ledger.ids import DeliveryId
from ledger.queue import inbox
from tests.bot.conftest import SECRET
from tests.bot.daemon import web_alone
from tests.bot.daemon.test_group import alive, lines
from tests.bot.web.test_webhook import BODY, sign
from tests.waiting import until
from tests.warm import Warm


@pytest.fixture
def server(config: Config, engine: Engine) -> Iterator[tuple[Warm, str]]:
    with served(config) as it:
        yield it


@contextmanager
def served(config: Config, *, processes: int = 1, **settings: str) -> Iterator[tuple[Warm, str]]:
    environ = {
        **os.environ,
        "CARDINAL_HOME": str(config.home),
        "CARDINAL_WEBHOOK_SECRET": SECRET,
        "CARDINAL_PORT": "0",
        "CARDINAL_WEB_PROCESSES": str(processes),
        **settings,
    }
    process = Warm(web_alone.main, env=environ)
    try:
        address = process.stdout.readline().strip()
        for _ in range(processes):
            lines(process, " ready")
        yield process, address
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.close()


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
    server: tuple[Warm, str], engine: Engine
) -> None:
    process, address = server
    assert post(address, "d-1") == 202
    for victim in psutil.Process(process.pid).children(recursive=True):
        victim.kill()
    assert inbox.due_deliveries(engine, limit=10) == ("d-1",)


def test_a_delivery_sent_while_the_server_is_dead_waits_for_the_next_one(
    server: tuple[Warm, str], engine: Engine
) -> None:
    process, address = server
    (web,) = psutil.Process(process.pid).children()
    web.kill()
    until(lambda: not alive(web.pid), "the web server is gone")
    assert post(address, "d-2") == 202
    assert "d-2" in inbox.due_deliveries(engine, limit=10)


def test_of_a_group_whose_process_is_killed_no_delivery_was_answered_and_none_is_there(
    config: Config, engine: Engine
) -> None:
    ids = {f"d-{number}" for number in range(24)}
    answered: set[str] = set()

    def send(address: str, delivery_id: str) -> None:
        with suppress(OSError, http.client.HTTPException):
            if post(address, delivery_id) == 202:
                answered.add(delivery_id)

    with served(config, processes=2) as (process, address):
        victim, other = psutil.Process(process.pid).children()
        senders = [Thread(target=send, args=(address, delivery_id)) for delivery_id in ids]
        with writing(engine):  # all wait for this turn
            for sender in senders:
                sender.start()
            both = (victim, other)
            until(lambda: sum(len(it.net_connections()) for it in both) == len(ids) + 2, "all have sent")
            victim.kill()
            until(lambda: not alive(victim.pid), "the victim is gone")
            assert not answered
        for sender in senders:
            sender.join(60)
        assert set(inbox.due_deliveries(engine, limit=99)) == answered
        assert alive(other.pid)
        assert post(address, "after") == 202


def test_a_large_delivery_is_taken_as_well(server: tuple[Warm, str], engine: Engine) -> None:
    body = json.dumps({"action": "created", "text": "x" * 2 * SMALL_BYTES}).encode()
    assert post(server[1], "large", body) == 202
    stored = inbox.claim(engine, DeliveryId("large"), lease_s=10)
    assert stored is not None
    assert stored.payload == body


@pytest.mark.parametrize("size", [10, 2 * SMALL_BYTES], ids=["small", "large"])
def test_small_and_large_deliveries_get_the_same_answers(server: tuple[Warm, str], size: int) -> None:
    body = json.dumps({"action": "created", "text": "x" * size}).encode()
    good = {
        "X-GitHub-Event": "issues",
        "X-GitHub-Delivery": "d-1",
        "X-Hub-Signature-256": sign(body),
        "Content-Type": "application/json; charset=utf-8",
    }
    text = {**good, "Content-Type": "text/plain"}
    for headers, status, answer in (
        ({**good, "X-Hub-Signature-256": sign(body, "other")}, 401, "the signature does not match"),
        (text, 400, "set the webhook's content type"),
        ({**good, "X-GitHub-Event": "a b"}, 400, "X-GitHub-Event or"),
        (good, 202, '{"delivery":"d-1","new":true}'),
        (good, 202, '{"delivery":"d-1","new":false}'),
    ):
        talk = connection(server[1])
        talk.request("POST", "/webhooks/github", body, headers)
        got = talk.getresponse()
        assert (got.status, got.headers["Content-Type"]) == (status, "application/json")
        assert answer in got.read().decode()
        talk.close()


def test_health_is_answered(server: tuple[Warm, str]) -> None:
    talk = connection(server[1])
    talk.request("GET", "/healthz")
    assert json.load(talk.getresponse()) == {"ok": True, "events": 0}
    talk.close()


def test_a_body_without_a_length_is_cut_off_at_25_mb(server: tuple[Warm, str], engine: Engine) -> None:
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
    assert inbox.due_deliveries(engine, limit=10) == ()


def test_a_taken_address_is_one_sentence(config: Config) -> None:
    with web.bind(config) as listener:
        taken = replace(config, port=listener.getsockname()[1])
        with pytest.raises(web.AddressTakenError, match="CARDINAL_PORT"):
            web.bind(taken)


def test_a_stop_lets_the_server_end_by_itself(server: tuple[Warm, str]) -> None:
    process, _ = server
    everyone = psutil.Process(process.pid).children(recursive=True)
    assert len(everyone) == 1
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    assert not any(alive(one.pid) for one in everyone)


def test_an_agent_reaches_the_mcp_server_where_there_are_pages(config: Config, engine: Engine) -> None:
    pages: dict[str, Any] = {
        "CARDINAL_PUBLIC_URL": "https://cardinal.example.com",
        "CARDINAL_CLIENT_ID": "Iv1.1",
        "CARDINAL_CLIENT_SECRET": "s",
        "CARDINAL_APP_ID": "1",
        "CARDINAL_PRIVATE_KEY": "-----BEGIN x",
        "CARDINAL_BOARD": "acme/1",
    }
    with served(config, **pages) as (_, address):
        talk = connection(address)
        try:
            talk.request("POST", "/mcp", b"{}", {"Authorization": "Bearer nothing"})
            answer = talk.getresponse()
            assert (answer.status, json.loads(answer.read())["code"]) == (401, "token")
        finally:
            talk.close()
