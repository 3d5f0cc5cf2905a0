"""Claude on Vertex AI: the agent speaks the Messages protocol, the gateway translates and fetches tokens."""

import asyncio
import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from runner.agents.contract import Usage
from runner.gateway.control.messages import CallRefusal, ProviderFailure
from runner.gateway.models.prices import price_of
from runner.gateway.models.protocol import ModelRequest
from runner.gateway.models.routes import missing_extra
from runner.gateway.models.upstream import AgentRequest, CredentialsError, keep_known_betas
from runner.gateway.models.vertex import BETAS, Vertex, credentials_of, root, translate
from runner.run.provider import Provider, VertexProvider
from runner.text.plain import redact, secret_forms
from tests.runner.gateway.upstream import Answer, messages
from tests.runner.gateway.world import CLAUDE, PATHS, USAGE, Scene, ask, assert_budget_bounds, scene

GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
AUDIENCE = "https://oauth2.googleapis.com/token"  # whatever the address
PLACE = "/v1/projects/acme-1/locations/europe-west1/publishers/anthropic/models"


@cache
def private_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def pem() -> str:
    kind, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return private_key().private_bytes(serialization.Encoding.PEM, kind, plain).decode()


@dataclass(slots=True)
class TokenServer:
    """Google's token endpoint: it checks the assertion's signature and gives numbered tokens."""

    expires_in_s: int = 3600
    refuses: bool = False
    asked: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""

    def answer(self, form: dict[str, list[str]]) -> tuple[int, dict[str, object]]:
        assert form["grant_type"] == [GRANT]
        claims = jwt.decode(
            form["assertion"][0], private_key().public_key(), algorithms=["RS256"], audience=AUDIENCE
        )
        self.asked.append(claims)
        if self.refuses:
            return 400, {"error": "invalid_grant", "error_description": "no such account: robot@acme"}
        token = f"ya29.token-number-{len(self.asked)}"
        return 200, {"access_token": token, "expires_in": self.expires_in_s, "token_type": "Bearer"}


@contextmanager
def token_server(**options: Any) -> Iterator[TokenServer]:
    served = TokenServer(**options)

    class TokenHandler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            status, given = served.answer(parse_qs(body))
            raw = json.dumps(given).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

    server = ThreadingHTTPServer(("127.0.0.1", 0), TokenHandler)
    served.url = f"http://127.0.0.1:{server.server_address[1]}/token"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join(60)


def account(token_uri: str) -> str:
    """Return the file of a service account's key, as Google writes it."""
    return json.dumps({
        "type": "service_account", "project_id": "acme-1", "private_key_id": "0123456789abcdef",
        "private_key": pem(), "client_email": "robot@acme.iam.gserviceaccount.com", "token_uri": token_uri,
    })  # fmt: skip


@contextmanager
def vertex(folder: Path, tokens: TokenServer, key: str = "") -> Iterator[Scene]:
    """Run a gateway that pays for Anthropic's models on Vertex."""

    def others(url: str) -> dict[str, Provider]:
        given = key or account(tokens.url)
        return {"anthropic": VertexProvider("vertex", url, given, project="acme-1", region="europe-west1")}

    with scene(folder, others=others) as world:
        yield world


def test_a_call_goes_to_the_models_own_address_with_a_token_and_is_metered(tmp_path: Path) -> None:
    with token_server() as tokens, vertex(tmp_path, tokens) as world:
        pieces = messages("Grüße", usage=USAGE, output_tokens=500)
        world.upstream.answers.append(Answer(pieces))
        betas = "claude-code-20250219,context-management-2025-06-27, advanced-tool-use-2025-11-20"
        headers = {"anthropic_beta": betas, "x_api_key": "none"}
        reply = world.post(PATHS["messages"] + "?beta=true", ask(CLAUDE, max_tokens=700), **headers)
        assert (reply.status, reply.body) == (200, b"".join(pieces))
        got = world.upstream.got[0]
        assert got.path == f"{PLACE}/{CLAUDE}:streamRawPredict"
        assert got.header("authorization") == ["Bearer ya29.token-number-1"]
        assert got.header("anthropic-beta") == ["context-management-2025-06-27,tool-search-tool-2025-10-19"]
        assert got.header("x-api-key") == []
        body = json.loads(got.body)
        assert (body["anthropic_version"], body["max_tokens"], body["stream"]) == (
            "vertex-2023-10-16",
            700,
            True,
        )
        assert "model" not in body
        (claims,) = tokens.asked
        assert claims["iss"] == "robot@acme.iam.gserviceaccount.com"
        assert claims["scope"] == "https://www.googleapis.com/auth/cloud-platform"
        (used,) = world.ears.wait(Usage)
        plain = price_of(Provider("anthropic", "", ""), CLAUDE)
        usual = plain.cost({**USAGE, "output_tokens": 500}, ("anthropic", "default"), {}, _now())
        assert usual is not None
        assert used.usd == pytest.approx(1.1 * usual.usd)  # a region costs a tenth more
        assert used == Usage(used.usd, 5000, 500, 1)


def test_a_token_is_kept_while_it_lives_and_renewed_before_it_expires(tmp_path: Path) -> None:
    with token_server() as tokens, vertex(tmp_path, tokens) as world:
        world.upstream.answers.append(Answer(messages("hi", usage=USAGE)))
        for _ in range(2):
            assert world.post(PATHS["messages"], ask()).status == 200
        assert len(tokens.asked) == 1
    with token_server(expires_in_s=120) as tokens, vertex(tmp_path, tokens) as world:
        world.upstream.answers.append(Answer(messages("hi", usage=USAGE)))
        for _ in range(2):
            assert world.post(PATHS["messages"], ask()).status == 200
        used = [got.header("authorization")[0] for got in world.upstream.got]
        assert used == ["Bearer ya29.token-number-1", "Bearer ya29.token-number-2"]


def test_counting_tokens_has_an_address_of_its_own_and_is_free(tmp_path: Path) -> None:
    with token_server() as tokens, vertex(tmp_path, tokens) as world:
        world.upstream.answers.append(Answer((b'{"input_tokens": 42}',), kind="application/json"))
        reply = world.post(PATHS["messages"] + "/count_tokens", ask(stream=False))
        assert reply.json == {"input_tokens": 42}
        assert world.upstream.got[0].path == f"{PLACE}/count-tokens:rawPredict"
        assert json.loads(world.upstream.got[0].body)["model"] == CLAUDE
        assert world.ears.all(Usage) == []


def test_credentials_that_google_refuses_end_the_run_with_the_setting_and_none_of_their_text(
    tmp_path: Path,
) -> None:
    with token_server(refuses=True) as tokens, vertex(tmp_path, tokens) as world:
        reply = world.post(PATHS["messages"], ask())
        (failure,) = world.ears.wait(ProviderFailure)
        assert (reply.status, failure.status, failure.final) == (401, 401, True)
        assert "check CARDINAL_VERTEX_CREDENTIALS, then retry" in failure.detail
        assert world.upstream.got == []
        for text in (reply.body.decode(), failure.detail):
            assert "robot" not in text
            assert redact(text, [account(tokens.url)]) == text


def test_a_token_server_that_is_away_counts_as_a_failure_and_ends_at_five(tmp_path: Path) -> None:
    with token_server() as tokens, vertex(tmp_path, tokens, account("http://127.0.0.1:1/token")) as world:
        for _ in range(5):
            assert world.post(PATHS["messages"], ask()).status == 502
        last = world.ears.wait(ProviderFailure, 5)[-1]
        assert (last.final, last.status) == (True, 0)
        assert "vertex failed 5 times in a row" in last.detail


def test_the_budget_bounds_a_call_on_vertex_and_refuses_the_next(tmp_path: Path) -> None:
    with token_server() as tokens, vertex(tmp_path, tokens) as world:
        assert_budget_bounds(world)


@pytest.mark.parametrize(
    ("given", "counting", "path"),
    [
        ({"model": "claude-x@20260101", "stream": True}, False, "claude-x@20260101:streamRawPredict"),
        ({"model": "claude-x", "stream": False}, False, "claude-x:rawPredict"),
        ({"model": "claude-x"}, False, "claude-x:rawPredict"),
        ({"model": "../../x:rawPredict?a#b"}, False, "..%2F..%2Fx%3ArawPredict%3Fa%23b:rawPredict"),
        ({"model": "claude-x"}, True, "count-tokens:rawPredict"),
    ],
)
def test_a_request_is_translated(given: dict[str, Any], counting: bool, path: str) -> None:
    provider = VertexProvider("vertex", "", "", project="p", region="global")
    where, body = translate(provider, {**given, "max_tokens": 7}, counting=counting)
    assert where == f"/v1/projects/p/locations/global/publishers/anthropic/models/{path}"
    expected = {**given, "max_tokens": 7, "anthropic_version": "vertex-2023-10-16"}
    if not counting:
        del expected["model"]
    assert json.loads(body) == expected


@pytest.mark.parametrize(
    ("region", "address"),
    [
        ("global", "https://aiplatform.googleapis.com"),
        ("eu", "https://aiplatform.eu.rep.googleapis.com"),
        ("us-east5", "https://us-east5-aiplatform.googleapis.com"),
    ],
)
def test_a_region_has_its_address(region: str, address: str) -> None:
    assert root(VertexProvider("vertex", "", "", project="p", region=region)) == address


def test_betas_that_the_platform_does_not_know_are_left_out() -> None:
    named = ("x-1", "context-1m-2025-08-07", "advanced-tool-use-2025-11-20", "tool-search-tool-2025-10-19")
    assert keep_known_betas(named, BETAS) == ("context-1m-2025-08-07", "tool-search-tool-2025-10-19")


def test_a_private_key_is_redacted_whole_by_its_lines_and_as_json(tmp_path: Path) -> None:
    key = account("https://oauth2.googleapis.com/token")
    lines = [line for line in pem().splitlines() if "-----" not in line and len(line) > 20]
    assert len(lines) > 20
    for text in (key, pem(), *lines, json.loads(key)["private_key_id"]):
        assert redact(f"so {text} it is", [key]) == "so [redacted] it is"
    assert redact("robot@acme and acme-1", [key]) == "robot@acme and acme-1"
    assert redact("is ya29.a0AfH6SMBx-y_z0123456789 it") == "is [redacted] it"
    assert secret_forms("sk-plain") == ("sk-plain",)


def test_a_persons_own_login_at_google_pays_and_names_the_project_that_is_charged() -> None:
    login = {"type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": "r"}
    login |= {"quota_project_id": "acme-2", "token": "ya29.its-own", "expiry": "2100-01-01T00:00:00Z"}
    upstream = Vertex(VertexProvider("vertex", "", json.dumps(login), project="p"))
    model_request = ModelRequest(CLAUDE, True, 1, {"model": CLAUDE}, b"{}", ())
    outgoing = asyncio.run(upstream.outgoing(AgentRequest("/v1/messages", b"", model_request, ())))
    headers = dict(outgoing.headers)
    assert headers[b"authorization"] == b"Bearer ya29.its-own"
    assert headers[b"x-goog-user-project"] == b"acme-2"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"type": "service_account"}', '{"type": "authorized_user", "client_id": "i"}']
)
def test_credentials_that_are_none_are_said_without_their_text(text: str) -> None:
    with pytest.raises(CredentialsError, match="neither a service account's key nor"):
        credentials_of(text)


def test_without_the_extra_a_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    provider = VertexProvider("vertex", "", "", project="p")
    assert missing_extra(provider) == ""
    monkeypatch.setitem(sys.modules, "google.auth", None)
    assert "pip install 'cardinal-board[vertex]'" in missing_extra(provider)
    with token_server() as tokens, vertex(tmp_path, tokens) as world:
        assert world.post(PATHS["messages"], ask()).status == 403
        assert [call_refusal.kind for call_refusal in world.ears.wait(CallRefusal)] == ["key"]


def _now() -> Any:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(time.time(), UTC)
