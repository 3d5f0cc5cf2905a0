"""The door to GitHub: who speaks, what is tried again, and what each refusal means to the caller."""

import json
import logging
import os
import socket
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import jwt
import pytest
import requests
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from bot.github import tokens
from bot.github.client import Hub, repository_path
from bot.github.errors import (
    ConflictError,
    GithubError,
    NotFoundError,
    NotYetError,
    PermissionMissingError,
    RateLimitedError,
    RefusedError,
    TokenError,
    UnavailableError,
    UnknownNameError,
    expect_newer,
)
from bot.system.config import Config, ConfigError, read
from bot.system.secret import Secret
from tests.bot.github.conftest import STARTED, Clock, Scripted

QUERY = "query Look { viewer { login } }"
EXHAUSTED = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(STARTED.timestamp()) + 120)}


def test_calls_are_made_as_the_installation_with_a_version(hub: Hub, scripted: Scripted) -> None:
    scripted.tokens()
    scripted.answer("GET", "/repos/a/b", {"id": 1}, headers={"X-Extra": "y"})
    answer = hub.rest("GET", "/repos/a/b", params={"q": "x y&z"})
    (request,) = scripted.asked("/repos/a/b")
    assert request.headers["Authorization"] == "Bearer token1"
    assert request.headers["X-GitHub-Api-Version"] == "2026-03-10"
    assert request.url.endswith("?q=x+y%26z")
    assert (answer.status, answer.body["id"], answer.headers["x-extra"]) == (200, 1, "y")


def test_a_moment_of_the_ledgers_is_told_by_githubs_clock(hub: Hub, scripted: Scripted) -> None:
    """The ledger's clock may be another machine's: it is compared with GitHub's all the same."""
    hour, second = timedelta(hours=1), timedelta(seconds=1)
    scripted.tokens()
    scripted.answer("GET", "/repos/a/b", {}, headers={"Date": format_datetime(STARTED, usegmt=True)})
    hub.rest("GET", "/repos/a/b")
    at = STARTED - second
    for apart in (hour, -hour):
        assert hub.theirs(at + apart, STARTED + apart) == at
    assert hub.theirs(at + 20 * second, STARTED + 20 * second) == at + 20 * second  # an answer's way
    assert (hub.latest(at, STARTED + hour), hub.latest(at, STARTED - hour)) == (at + hour, at)
    assert hub.earliest(at + hour, STARTED + hour) == at


def test_nobody_waits_for_a_moment_that_a_wrong_clock_told() -> None:
    with pytest.raises(NotYetError):
        expect_newer("pull request 1", STARTED, STARTED + timedelta(seconds=20))
    for apart in (timedelta(hours=-5), timedelta(hours=5)):
        expect_newer("pull request 1", STARTED + apart, STARTED)


def test_the_app_signs_for_nine_minutes_and_a_minute_back(
    hub: Hub, scripted: Scripted, private_key: str
) -> None:
    scripted.answer("GET", "/app", {"slug": "cardinal"})
    hub.as_app("GET", "/app")
    word = scripted.asked("/app")[0].headers["Authorization"].removeprefix("Bearer ")
    public = load_pem_private_key(private_key.encode(), None).public_key()
    assert isinstance(public, RSAPublicKey)
    claims = jwt.decode(
        word, public, algorithms=["RS256"], options={"verify_exp": False, "verify_iat": False}
    )
    now_s = int(STARTED.timestamp())
    assert claims == {"iss": "12", "iat": now_s - 60, "exp": now_s + 540}


def test_a_token_is_kept_until_five_minutes_before_it_expires(
    hub: Hub, scripted: Scripted, clock: Clock
) -> None:
    scripted.tokens(times=2)
    scripted.answer("GET", "/x", {})
    hub.rest("GET", "/x")
    clock.forward(3299)
    hub.rest("GET", "/x")
    clock.forward(1)
    hub.rest("GET", "/x")
    said = [request.headers["Authorization"] for request in scripted.asked("/x")]
    assert said == ["Bearer token1", "Bearer token1", "Bearer token2"]
    assert len(scripted.asked("/orgs/acme/installation")) == 1


def test_a_refused_token_is_renewed_once(hub: Hub, scripted: Scripted, clock: Clock) -> None:
    scripted.tokens(times=2)
    scripted.answer("GET", "/x", {})
    hub.rest("GET", "/x")
    clock.forward(60)
    scripted.answer("GET", "/x", {"message": "Bad credentials"}, status=401)
    scripted.answer("GET", "/x", {"fine": True})
    assert hub.rest("GET", "/x").body["fine"]
    assert [request.headers["Authorization"] for request in scripted.asked("/x")][-1] == "Bearer token2"


@pytest.mark.parametrize(("path", "status"), [("/x", 401), ("/repos/acme/shop/issues", 403)])
def test_a_token_that_github_does_not_know_yet_is_sent_again(
    hub: Hub, scripted: Scripted, path: str, status: int
) -> None:
    scripted.tokens()
    said = {"message": "Bad credentials" if status == 401 else "Resource not accessible by integration"}
    scripted.answer("GET", path, said, status=status)
    scripted.answer("GET", path, {"fine": True})
    assert hub.rest("GET", path).body["fine"]
    assert [it.headers["Authorization"] for it in scripted.asked(path)] == ["Bearer token1"] * 2


def test_git_gets_no_token_that_github_does_not_know_yet(hub: Hub, scripted: Scripted) -> None:
    scripted.tokens()
    scripted.answer("GET", "/repos/acme/shop", {"message": "Bad credentials"}, status=403)
    scripted.answer("GET", "/repos/acme/shop", {})
    hub.git_environment("acme/shop")
    assert len(scripted.asked("/repos/acme/shop")) == 2


def test_a_fresh_token_that_is_refused_too_is_an_error(
    hub: Hub, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "NEW", timedelta())
    scripted.tokens(times=2)
    scripted.answer("GET", "/x", {"message": "Bad credentials"}, status=401)
    with pytest.raises(TokenError, match="CARDINAL_PRIVATE_KEY"):
        hub.rest("GET", "/x")
    assert len(scripted.asked("/x")) == 2


def test_a_key_that_cannot_sign_is_an_error_that_does_not_show_it(config: Config, clock: Clock) -> None:
    hub = Hub(replace(config, private_key=Secret("-----BEGIN hush")), clock)
    with pytest.raises(TokenError) as caught:
        hub.rest("GET", "/x")
    assert "hush" not in str(caught.value)


def test_an_owner_without_the_app_is_named(hub: Hub, scripted: Scripted) -> None:
    for owners in ("orgs", "users"):
        scripted.answer("GET", f"/{owners}/acme/installation", {"message": "Not Found"}, status=404)
    with pytest.raises(NotFoundError, match="the App is not installed on acme"):
        hub.rest("GET", "/x")


def test_without_settings_it_says_which_are_missing(tmp_path: Path, clock: Clock) -> None:
    with pytest.raises(ConfigError, match="CARDINAL_APP_ID"):
        Hub(read({"CARDINAL_BOARD": "acme/1"}, tmp_path), clock).rest("GET", "/x")


@pytest.mark.parametrize(
    ("status", "body", "headers", "error", "wait_s"),
    [
        (404, {"message": "Not Found"}, {}, NotFoundError, None),
        (410, {"message": "Gone"}, {}, NotFoundError, None),
        (409, {"message": "Head branch was modified"}, {}, ConflictError, None),
        (422, {"message": "Validation Failed", "errors": [{"message": "too long"}]}, {}, RefusedError, None),
        (405, {"message": "Pull Request is not mergeable"}, {}, RefusedError, None),
        (400, {"message": "Problems parsing JSON"}, {}, RefusedError, None),
        (307, {"message": "Moved"}, {}, UnknownNameError, None),
        (403, {"message": "Resource not accessible by integration"}, {}, PermissionMissingError, None),
        (403, {"message": "API rate limit exceeded"}, EXHAUSTED, RateLimitedError, 120),
        (403, {"message": "You have exceeded a secondary rate limit."}, {}, RateLimitedError, 60),
        (403, {"message": "You have triggered an abuse detection mechanism."}, {}, RateLimitedError, 60),
        (403, {"message": "Resource not accessible by integration"}, EXHAUSTED, PermissionMissingError, None),
        (403, {"message": "Slow"}, {"retry-after": "7"}, RateLimitedError, 7),
        (429, {"message": "Slow"}, {"retry-after": "soon"}, RateLimitedError, 60),
        (429, {"message": "Slow"}, {"retry-after": "999999"}, RateLimitedError, 3600),
        (429, {"message": "Slow"}, {"retry-after": "-5"}, RateLimitedError, 1),
        (500, {"message": "Server Error"}, {}, UnavailableError, None),
        (502, None, {}, UnavailableError, None),
    ],
)  # fmt: skip
def test_a_refusal_says_what_the_caller_can_do(
    hub: Hub,
    scripted: Scripted,
    status: int,
    body: Any,
    headers: dict[str, str],
    error: type,
    wait_s: int | None,
) -> None:
    scripted.tokens()
    scripted.answer("PATCH", "/x", body, status=status, headers=headers)
    with pytest.raises(GithubError) as caught:
        hub.rest("PATCH", "/x", body={})
    assert type(caught.value) is error
    assert str(caught.value).startswith(f"GitHub: PATCH /x: {status}")
    assert getattr(caught.value, "retry_after_s", None) == wait_s
    assert hub.budget.spare(0) == (wait_s or 0)


def test_the_reasons_of_a_refusal_are_kept(hub: Hub, scripted: Scripted) -> None:
    scripted.tokens()
    reasons = [
        {"message": "A pull request exists"},
        {"resource": "Issue", "field": "title", "code": "missing"},
        "z",
    ]
    scripted.answer("POST", "/x", {"message": "Validation Failed", "errors": reasons}, status=422)
    with pytest.raises(RefusedError) as caught:
        hub.rest("POST", "/x", body={})
    assert caught.value.messages == ("A pull request exists", "Issue title missing", "z")


def test_a_missing_permission_is_named(hub: Hub, scripted: Scripted) -> None:
    scripted.tokens()
    needed = {"X-Accepted-GitHub-Permissions": "checks=write"}
    scripted.answer("GET", "/x", {"message": "Resource not accessible"}, status=403, headers=needed)
    with pytest.raises(PermissionMissingError, match="checks=write"):
        hub.rest("GET", "/x")


@pytest.mark.parametrize("text", ["<html>unicorn</html>", "{broken", "\x00"])
@pytest.mark.parametrize(
    ("status", "error"), [(200, UnavailableError), (503, UnavailableError), (404, NotFoundError)]
)
def test_an_answer_that_is_not_json_never_breaks(
    hub: Hub, scripted: Scripted, text: str, status: int, error: type[GithubError]
) -> None:
    scripted.tokens()
    scripted.mock.add("GET", "https://api.github.com:443/x", body=text, status=status)
    with pytest.raises(error):
        hub.rest("GET", "/x")


def test_a_broken_connection_is_unavailable_and_a_write_is_not_repeated(hub: Hub, scripted: Scripted) -> None:
    scripted.tokens()
    scripted.answer("POST", "/x")
    scripted.mock.replace("POST", "https://api.github.com:443/x", body=requests.ConnectionError("reset"))
    with pytest.raises(UnavailableError, match="no answer"):
        hub.rest("POST", "/x", body={})
    assert len(scripted.asked("/x")) == 1


def test_a_server_that_never_answers_is_given_up(config: Config, clock: Clock) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        hub = Hub(replace(config, github_url=address), clock, read_s=0.2)
        with pytest.raises(UnavailableError, match="ReadTimeout"):
            hub.rest("GET", "/x")


@pytest.mark.parametrize("body", [[], {}, {"data": None}, {"data": 1}, {"errors": ["x"]}])
def test_a_graphql_answer_of_no_known_shape_is_an_error(hub: Hub, scripted: Scripted, body: Any) -> None:
    scripted.tokens()
    scripted.answer("POST", "/graphql", body)
    with pytest.raises(GithubError):
        hub.graphql(QUERY, {})


def test_graphql_401_for_a_permission_is_no_matter_of_the_token(hub: Hub, scripted: Scripted) -> None:
    scripted.tokens()
    scripted.answer("POST", "/graphql", {"message": "Resource not accessible by integration"}, status=401)
    with pytest.raises(PermissionMissingError):
        hub.graphql(QUERY, {})


def test_only_new_content_counts_as_content(hub: Hub, scripted: Scripted) -> None:
    scripted.tokens()
    scripted.answer("POST", "/x", {})
    scripted.answer("PATCH", "/x", {})
    scripted.answer("POST", "/graphql", {"data": {}})
    hub.rest("POST", "/x", body={})
    hub.rest("PATCH", "/x", body={})
    hub.graphql(QUERY, {})
    hub.graphql("mutation A { updateProjectV2Field(input: {}) { x } }", {})
    hub.graphql("mutation B { createProjectV2StatusUpdate(input: {}) { x } }", {})
    rate_usage, _ = hub.budget.read_usage()
    assert (sum(rate_usage.contents.values()), sum(rate_usage.points.values())) == (2, 5 + 5 + 1 + 5 + 5)


def test_a_listing_is_read_page_by_page_and_no_further_than_told(hub: Hub, scripted: Scripted) -> None:
    scripted.tokens()
    scripted.answer("GET", "/x", [{"n": n} for n in range(100)])
    assert len(list(hub.pages("/x", most=3))) == 300
    assert [request.params["page"] for request in scripted.asked("/x")] == ["1", "2", "3"]


def test_git_gets_a_token_for_one_repository_out_of_sight(hub: Hub, scripted: Scripted) -> None:
    scripted.tokens()
    scripted.answer("GET", "/repos/acme/shop", {})
    environment = hub.git_environment("acme/shop")
    asked = json.loads(scripted.asked("/app/installations/7/access_tokens")[0].body)
    assert asked == {"repositories": ["shop"], "permissions": {"contents": "write"}}
    assert hub.git_url("acme/shop") == "https://github.com/acme/shop.git"
    assert environment["GIT_CONFIG_KEY_0"] == "http.https://github.com/acme/shop.git.extraHeader"
    assert environment["GIT_TERMINAL_PROMPT"] == "0"
    assert "token1" not in str(environment)


@pytest.mark.parametrize(
    "name", ["acme", "acme/", "/shop", "a/b/c", "a/..", "a/.", "a/b?x", "a/b\n", "-x y/z", "a/b#"]
)
def test_a_repository_that_is_none_never_becomes_an_address(hub: Hub, name: str) -> None:
    for use in (repository_path, hub.git_url, hub.git_environment):
        with pytest.raises(RefusedError):
            use(name)


def test_no_token_is_asked_for_what_another_owner_calls_the_same(hub: Hub) -> None:
    with pytest.raises(RefusedError, match="evil/shop is not of acme"):
        hub.git_environment("evil/shop")


def test_no_token_reaches_the_log(hub: Hub, scripted: Scripted, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    scripted.tokens()
    scripted.answer("GET", "/x", {})
    hub.rest("GET", "/x")
    caplog.set_level(logging.DEBUG, logger="github")
    hub.rest("GET", "/x")
    assert "token1" not in caplog.text


class Peers(BaseHTTPRequestHandler):
    """Answers everything, tokens too, and notes from which port each request for /x came."""

    protocol_version = "HTTP/1.1"
    ports: ClassVar[list[int]] = []

    def do_GET(self) -> None:
        if self.path == "/x":
            self.ports.append(self.client_address[1])
        body = json.dumps({"id": 7, "token": "t", "expires_at": "2027-01-01T00:00:00Z"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python 3.12 and newer, for the server
def test_a_forked_child_opens_its_own_connection(config: Config, clock: Clock) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Peers) as server:
        server.daemon_threads = True
        serving = Thread(target=server.serve_forever)
        serving.start()
        hub = Hub(replace(config, github_url=f"http://127.0.0.1:{server.server_port}"), clock)
        hub.rest("GET", "/x")
        hub.rest("GET", "/x")
        child = os.fork()
        if child == 0:
            hub.rest("GET", "/x")
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        hub.rest("GET", "/x")
        server.shutdown()
        serving.join(60)
    mine, mine_too, childs, mine_again = Peers.ports
    assert mine == mine_too == mine_again != childs


@pytest.mark.parametrize("how", ["rest", "graphql"])
def test_a_permission_accepted_meanwhile_needs_another_token(
    hub: Hub, scripted: Scripted, clock: Clock, how: str
) -> None:
    scripted.tokens(times=2)
    refused = {"message": "Resource not accessible by integration"}
    ask: Callable[[], object]
    if how == "rest":
        scripted.answer("POST", "/x", refused, status=403)
        scripted.answer("POST", "/x", refused, status=403)
        scripted.answer("POST", "/x", {"id": 1}, status=201)
        ask = lambda: hub.rest("POST", "/x").body  # noqa: E731
    else:
        errors = {"data": None, "errors": [{"type": "FORBIDDEN", **refused}]}
        scripted.answer("POST", "/graphql", errors)
        scripted.answer("POST", "/graphql", errors)
        scripted.answer("POST", "/graphql", {"data": {"id": 1}})
        ask = lambda: hub.graphql(QUERY, {})  # noqa: E731
    with pytest.raises(PermissionMissingError):  # a young token tells the truth: one call
        ask()
    clock.forward(61)
    assert ask() == {"id": 1}
    said = [call.request.headers["Authorization"] for call in scripted.mock.calls]
    assert [one for one in said if "token" in one] == ["Bearer token1", "Bearer token1", "Bearer token2"]


def test_a_permission_that_stays_missing_costs_one_more_call_and_token(
    hub: Hub, scripted: Scripted, clock: Clock
) -> None:
    scripted.tokens(times=2)
    for _ in range(3):
        scripted.answer("POST", "/x", {"message": "Resource not accessible by integration"}, status=403)
    for _ in range(2):
        with pytest.raises(PermissionMissingError):
            hub.rest("POST", "/x")
        clock.forward(61)
    assert len(scripted.asked("/x")) == 3
