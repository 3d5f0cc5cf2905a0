"""A delivery is taken exactly when it is GitHub's, and a 202 means that it is on disk."""

import hmac
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from flask import url_for
from httpx2 import Response
from sqlalchemy import Engine
from starlette.testclient import TestClient

from bot.system.config import Config
from bot.system.secret import Secret
from bot.web.app import make_app
from ledger.ids import DeliveryId
from ledger.queue import inbox
from tests.bot.conftest import SECRET
from tests.bot.web.serving import web_client
from tests.waiting import until

AT = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)
ID = "72d3162e-cc78-11e3-81ab-4c9367dc0958"
BODY = json.dumps({"action": "created", "text": "zażółć ‮"}).encode()


def sign(body: bytes, secret: str = SECRET, kind: str = "sha256") -> str:
    return f"{kind}={hmac.new(secret.encode(), body, kind).hexdigest()}"


class Woken:
    """Takes wake-ups as Redis would; `up` False refuses them."""

    def __init__(self) -> None:
        self.up = True
        self.ids: list[str] = []
        self.by_app: list[bool] = []
        self.about: list[str] = []

    def __call__(self, deliveries: Sequence[tuple[DeliveryId, bool, str]]) -> bool:
        if self.up:
            self.ids += [delivery_id for delivery_id, _, _ in deliveries]
            self.by_app += [by_app for _, by_app, _ in deliveries]
            self.about += [about for _, _, about in deliveries]
        return self.up


@pytest.fixture
def woken() -> Woken:
    return Woken()


@pytest.fixture
def client(config: Config, engine: Engine, woken: Woken) -> TestClient:
    return web_client(config, engine, woken, lambda: AT)


def post(client: TestClient, body: bytes = BODY, **changed: str | None) -> Response:
    """Post as GitHub does; `x_hub_signature_256=None` leaves that header out."""
    headers: dict[str, str | None] = {
        "X-GitHub-Event": "issue_comment",
        "X-GitHub-Delivery": ID,
        "X-Hub-Signature-256": sign(body),
        "Content-Type": "application/json",
    }
    headers |= {
        next(
            (known for known in headers if known.lower() == name.replace("_", "-")), name.replace("_", "-")
        ): value
        for name, value in changed.items()
    }
    return client.post(
        "/webhooks/github",
        content=body,
        headers={name.encode(): value.encode() for name, value in headers.items() if value is not None},
    )


def test_a_signed_delivery_is_stored_as_it_came_and_a_worker_is_woken(
    client: TestClient, engine: Engine, woken: Woken
) -> None:
    assert post(client).status_code == 202
    stored = inbox.claim(engine, DeliveryId(ID), lease_s=10)
    assert stored is not None
    assert (stored.payload, stored.event, stored.action, stored.received_at) == (
        BODY,
        "issue_comment",
        "created",
        AT,
    )
    until(lambda: woken.ids == [ID], "it is woken")  # after the answer


def test_a_delivery_is_taken_while_redis_is_away(client: TestClient, engine: Engine, woken: Woken) -> None:
    woken.up = False
    assert post(client).status_code == 202
    assert inbox.due_deliveries(engine, limit=10) == (ID,)


def test_the_same_delivery_twice_is_stored_once_and_wakes_twice(
    client: TestClient, engine: Engine, woken: Woken
) -> None:
    first, second = post(client), post(client)
    assert (first.status_code, second.status_code) == (202, 202)
    assert (first.json()["new"], second.json()["new"]) == (True, False)
    assert inbox.due_deliveries(engine, limit=10) == (ID,)
    until(lambda: woken.ids == [ID, ID], "it is woken again")


def test_an_unknown_event_is_stored_too(client: TestClient, engine: Engine) -> None:
    assert post(client, x_github_event="not_invented_yet").status_code == 202
    assert inbox.due_deliveries(engine, limit=10) == (ID,)


@pytest.mark.parametrize(
    "signature",
    [
        None,
        "",
        sign(BODY, "another secret"),
        sign(BODY + b" "),
        sign(BODY, kind="sha1"),
        sign(BODY).upper(),
        sign(BODY)[:-1],
        sign(BODY) + "0",
        sign(BODY).removeprefix("sha256="),
        "sha256=" + "é" * 64,
        "sha256=" + "0" * 64,
    ],
)
def test_a_wrong_signature_is_401_and_stores_nothing(
    client: TestClient, engine: Engine, woken: Woken, signature: str | None
) -> None:
    assert post(client, x_hub_signature_256=signature).status_code == 401
    assert inbox.due_deliveries(engine, limit=10) == ()
    assert woken.ids == []


def test_a_lone_sha1_signature_is_401(client: TestClient) -> None:
    answer = post(client, x_hub_signature_256=None, x_hub_signature=sign(BODY, kind="sha1"))
    assert answer.status_code == 401


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"null",
        b"\xff\xfe",
        b'{"a": "\xff"}',
        b"[" * 200_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b"payload=%7B%7D",
    ],
    ids=lambda body: repr(body[:12]),
)
def test_a_signed_body_that_is_no_json_object_is_400(client: TestClient, engine: Engine, body: bytes) -> None:
    answer = post(client, body)
    assert (answer.status_code, bool(answer.json()["error"])) == (400, True)
    assert inbox.due_deliveries(engine, limit=10) == ()


@pytest.mark.parametrize(
    "headers",
    [
        {"x_github_event": None},
        {"x_github_event": ""},
        {"x_github_event": "../issues"},
        {"x_github_event": "a" * 65},
        {"x_github_delivery": None},
        {"x_github_delivery": "a b"},
        {"x_github_delivery": "x" * 65},
    ],
)
def test_a_delivery_without_githubs_headers_is_400(
    client: TestClient, engine: Engine, headers: dict[str, str | None]
) -> None:
    assert post(client, BODY, **headers).status_code == 400
    assert inbox.due_deliveries(engine, limit=10) == ()


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", None])
def test_another_content_type_is_400_and_says_what_to_set(client: TestClient, kind: str | None) -> None:
    answer = post(client, b"payload=%7B%7D", content_type=kind)
    assert answer.status_code == 400
    assert "application/json" in answer.json()["error"]


def test_a_charset_in_the_content_type_changes_nothing(client: TestClient) -> None:
    assert post(client, content_type="application/json; charset=no-such-one").status_code == 202


def test_a_body_over_25_mb_is_413_before_it_is_read(client: TestClient) -> None:
    def unreadable() -> Iterator[bytes]:
        raise AssertionError("it was read")
        yield b""

    headers = {"Content-Length": str(25 * 1024 * 1024 + 1)}
    assert client.post("/webhooks/github", content=unreadable(), headers=headers).status_code == 413


def test_an_unsigned_body_learns_nothing_about_itself(client: TestClient) -> None:
    assert post(client, b"{", x_hub_signature_256="sha256=" + "0" * 64).status_code == 401
    assert post(client, x_github_event=None, x_hub_signature_256=None).status_code == 401


def test_without_a_webhook_secret_nothing_is_taken(engine: Engine, config: Config, woken: Woken) -> None:
    client = web_client(replace(config, webhook_secret=Secret("")), engine, woken, lambda: AT)
    assert post(client, x_hub_signature_256=sign(BODY, "")).status_code == 401


def test_only_posts_are_deliveries(client: TestClient) -> None:
    assert client.get("/webhooks/github").status_code == 405


def test_health_tells_how_many_events_there_are(client: TestClient) -> None:
    assert client.get("/healthz").json() == {"ok": True, "events": 0}


def test_an_address_can_be_built_of_a_rule(config: Config, engine: Engine) -> None:
    with make_app(config, engine, lambda: AT).test_request_context():
        assert url_for("health", since=3) == "/healthz?since=3"


@pytest.mark.parametrize(
    ("sender", "by_app"),
    [('{"type": "Bot"}', True), ('{"type": "User"}', False), ("[]", False), ('"Bot"', False), ("{}", False)],
)
def test_what_an_app_did_is_told_apart(client: TestClient, woken: Woken, sender: str, by_app: bool) -> None:
    assert post(client, f'{{"sender": {sender}}}'.encode()).status_code == 202
    until(lambda: woken.by_app == [by_app], "the App's deliveries are woken")


@pytest.mark.parametrize(
    ("body", "about"),
    [
        ('{"issue": {"node_id": "I_1"}, "comment": {"node_id": "IC_1"}}', "I_1"),
        ('{"projects_v2_item": {"node_id": "PVTI_1", "content_node_id": "I_1"}}', "I_1"),
        ('{"pull_request": {"node_id": "PR_1"}}', "PR_1"),
        ('{"check_run": {"head_sha": "abc"}}', "abc"),
        ('{"sha": "abc"}', "abc"),
        ('{"issue": [], "pull_request": {"node_id": 5}, "sha": {}}', ""),
        ("{}", ""),
    ],
)
def test_what_a_delivery_is_about_is_told(client: TestClient, woken: Woken, body: str, about: str) -> None:
    assert post(client, body.encode()).status_code == 202
    until(lambda: woken.about == [about], "the delivery is woken for")
