"""Signing in by a company's own means: at a proxy that names people, or at an OpenID provider."""

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from flask import Request
from httpx2 import Response
from starlette.testclient import TestClient

from bot.admin.doctor import DoctorContext, sign_in
from bot.github.client import Hub
from bot.github.oauth import SignInError
from bot.system import config as configuration
from bot.system.clock import utc_now
from bot.system.config import Config
from bot.system.secret import Secret
from bot.system.setting_types import as_networks
from bot.web.app import make_web
from bot.web.live.streams import Streams
from bot.web.site.company import openid
from bot.web.site.company.login import login_from_proxy, login_of
from bot.web.wsgi import environ_of
from tests.bot.web.api.program import Program
from tests.bot.web.pages.world import PUBLIC, Pages

PROXY, CLIENT = "10.0.0.9", "cardinal-at-acme"
NETWORKS = "10.0.0.0/28, fd00::/64"
NAME = "X-Auth-Request-User"
Headers = list[tuple[str, str]]


def browser(pages: Pages, config: Config, peer: str = PROXY) -> TestClient:
    """Return a browser whose connections come from `peer`; no redirection is followed."""
    services = pages.cardinal.services
    app = make_web(config, services.engine, lambda _: True, services.clock, Streams(services.engine)).app
    return TestClient(app, PUBLIC, client=(peer, 50_000), follow_redirects=False)


def behind_proxy(pages: Pages, **more: Any) -> Config:
    networks: Any = as_networks(NETWORKS)
    settings = {"sign_in": "proxy", "sign_in_header": NAME, "sign_in_from": networks, **more}
    return replace(pages.cardinal.services.config, **settings)


@pytest.fixture
def proxied(tmp_path: Path) -> Config:
    """Return settings with a proxy in front of Cardinal."""
    settings = {"SIGN_IN": "proxy", "SIGN_IN_HEADER": NAME, "SIGN_IN_FROM": NETWORKS, "HOME": str(tmp_path)}
    return configuration.read({f"CARDINAL_{name}": text for name, text in settings.items()}, tmp_path)


def says(answer: Response, login: str) -> bool:
    return f"signed in as {login}" in answer.text


def test_whom_the_proxy_names_is_signed_in_as_their_github_account(pages: Pages) -> None:
    bob, named = browser(pages, behind_proxy(pages)), {NAME: "bob"}
    first = bob.get("/", headers=named)
    assert ("Sign in</a>" in first.text, "GitHub</a>" in first.text) == (True, False)
    entered = bob.get("/sign-in?next=/runs", headers=named)
    assert (entered.status_code, entered.headers["Location"]) == (303, "/runs")
    assert all(text in entered.headers["Set-Cookie"] for text in ("__Host-cardinal=", "HttpOnly", "Secure"))
    assert says(bob.get("/", headers=named), "bob")
    run_id = pages.run()  # whose repository he may read, as GitHub says of the login
    assert bob.get(f"/runs/{run_id}", headers=named).status_code == 200


def test_each_request_has_to_come_through_the_proxy_for_the_same_person(pages: Pages) -> None:
    bob = browser(pages, behind_proxy(pages))
    bob.get("/sign-in", headers={NAME: "bob"})
    cookies = dict(bob.cookies.items())
    assert says(bob.get("/", headers={NAME: "BOB"}), "bob")
    for headers in ({}, {NAME: ""}, {NAME: "alice"}, {NAME: "bob,alice"}, {"X-Other": "bob"}):
        assert not says(bob.get("/", headers=headers), "bob")
    around = browser(pages, behind_proxy(pages), "192.0.2.1")
    around.cookies.update(cookies)
    assert not says(around.get("/", headers={NAME: "bob"}), "bob")
    named = {NAME: "bob"}
    assert bob.post("/sign-out", headers={**named, "Origin": "https://elsewhere"}).status_code == 403
    assert says(bob.get("/", headers=named), "bob")
    assert bob.post("/sign-out", headers={**named, "Origin": PUBLIC}).status_code == 303
    assert not says(bob.get("/", headers=named), "bob")
    unknown = bob.get("/sign-in", headers={NAME: "no-such-person"})
    assert (unknown.status_code, "no account no-such-person" in unknown.text) == (403, True)


def named_by(config: Config, peer: str, headers: Headers) -> str:
    """Return whom a request names that comes from `peer` with these headers on the wire."""
    raw = [(name.lower().encode(), text.encode("latin-1")) for name, text in headers]
    scope = {"method": "GET", "raw_path": b"/", "query_string": b"", "http_version": "1.1", "headers": raw}
    return login_from_proxy(config, Request(environ_of({**scope, "client": (peer, 1)}, b"")))


def test_nobody_is_named_but_by_the_proxy_and_by_it_once(proxied: Config) -> None:
    for peer in (PROXY, f"::ffff:{PROXY}", "fd00::7", "fd00::7%eth0"):
        assert named_by(proxied, peer, [(NAME, "bob")]) == "bob"
    forwarded = [("X-Forwarded-For", PROXY), ("Forwarded", f"for={PROXY}"), ("X-Real-IP", PROXY)]
    for peer, headers in (
        ("192.0.2.1", [(NAME, "bob")]),
        ("192.0.2.1", [(NAME, "bob"), *forwarded]),
        ("10.0.0.16", [(NAME, "bob")]),  # just outside
        ("::ffff:192.0.2.1", [(NAME, "bob")]),
        ("fd01::1", [(NAME, "bob")]),
        ("testclient", [(NAME, "bob")]),
        ("", [(NAME, "bob")]),
        (PROXY, []),
        (PROXY, [(NAME, " ")]),
        (PROXY, [(NAME, "bob"), (NAME, "alice")]),  # a visitor's own, and the proxy's
        (PROXY, [(NAME, "alice"), (NAME.lower(), "bob")]),
        (PROXY, [(NAME, "bob"), (NAME, "")]),
        (PROXY, [(NAME.replace("-", "_"), "bob")]),
        (PROXY, [(NAME, "bob/../alice")]),
        (PROXY, [(NAME, "bob@acme.example")]),
        (PROXY, [(NAME, "b\xfcb")]),
        (PROXY, [(NAME, "b" * 400)]),
        (PROXY, [("X-Forwarded-User", "bob")]),
    ):
        with pytest.raises(SignInError):
            named_by(proxied, peer, headers)


def test_a_list_says_which_account_a_person_has_and_who_may_come_in(proxied: Config, tmp_path: Path) -> None:
    people = tmp_path / "people"
    config = replace(proxied, sign_in_logins=people)
    people.write_text("# ours\n\nRobert@acme.example = bob\nalice=alice-gh\n", encoding="utf-8")
    assert named_by(config, PROXY, [(NAME, "robert@ACME.example")]) == "bob"
    assert named_by(config, PROXY, [(NAME, "alice")]) == "alice-gh"
    for text, because in (
        ("Robert@acme.example = bob\n", "you are not on the operator's list of people"),
        ("alice = a\nAlice = b\n", "list of people cannot be read"),
        ("alice\n", "list of people cannot be read"),
        ("alice = a b\n", "list of people cannot be read"),
        ("\xff", "list of people cannot be read"),
    ):
        people.write_bytes(text.encode("latin-1"))
        with pytest.raises(SignInError, match=because):
            named_by(config, PROXY, [(NAME, "alice")])
    people.write_text("alice,bob = bob\n", encoding="utf-8")
    with pytest.raises(SignInError, match="did not say who you are"):
        named_by(config, PROXY, [(NAME, "alice"), (NAME, "bob")])
    people.unlink()
    with pytest.raises(SignInError, match="list of people cannot be read"):
        named_by(config, PROXY, [(NAME, "alice")])


def test_no_name_of_another_spelling_is_a_colleagues(proxied: Config, tmp_path: Path) -> None:
    people = tmp_path / "people"
    people.write_text("kim = kim-gh\nstrasse@acme.example = ann\nJos\u00e9 = jose\n", encoding="utf-8")
    config = replace(proxied, sign_in_logins=people)
    assert (login_of(config, "KIM"), login_of(config, "jos\u00e9")) == ("kim-gh", "jose")
    for other in ("\u212aim", "\uff4bim", "stra\u00dfe@acme.example", "k\u0131m", "JOS\u00c9"):
        with pytest.raises(SignInError, match="not on the operator's list"):
            login_of(config, other)
    by_sub = replace(config, sign_in="oidc", oidc_claim="sub")  # a `sub` is case-sensitive
    people.write_text("aB3 = bob\nAb3 = alice\n", encoding="utf-8")
    assert (login_of(by_sub, "aB3"), login_of(by_sub, "Ab3")) == ("bob", "alice")
    with pytest.raises(SignInError, match="not on the operator's list"):
        login_of(by_sub, "ab3")


def test_where_a_company_signs_people_in_github_does_not(pages: Pages) -> None:
    back = "/sign-in/back?code=abc&state=x"
    config = behind_proxy(pages)
    assert browser(pages, config).get(back, headers={NAME: "bob"}).status_code == 404
    assert browser(pages, config).get("/sign-in/oidc?code=abc&state=x").status_code == 404
    assert (
        browser(pages, pages.cardinal.services.config).get("/sign-in/oidc?code=a&state=x").status_code == 404
    )


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"SIGN_IN": "proxy"}, "needs CARDINAL_SIGN_IN_HEADER and CARDINAL_SIGN_IN_FROM"),
        ({"SIGN_IN": "proxy", "SIGN_IN_HEADER": "X-User"}, "needs CARDINAL_SIGN_IN_FROM"),
        ({"SIGN_IN_HEADER": "X-User"}, "CARDINAL_SIGN_IN_HEADER would do nothing"),
        ({"SIGN_IN": "proxy", "SIGN_IN_HEADER": "X-User", "SIGN_IN_FROM": "10.1.1.1,::/0"}, "not all"),
        ({"SIGN_IN": "proxy", "SIGN_IN_HEADER": "X_User", "SIGN_IN_FROM": "10.0.0.1"}, "SIGN_IN_HEADER"),
        ({"SIGN_IN": "proxy", "SIGN_IN_HEADER": "X-User", "SIGN_IN_FROM": "proxy.local"}, "SIGN_IN_FROM"),
        ({"SIGN_IN_LOGINS": "people"}, "CARDINAL_SIGN_IN_LOGINS would do nothing: set"),
        ({"SIGN_IN": "proxy", "SIGN_IN_HEADER": "X-User", "SIGN_IN_FROM": "10.0.0.1", "OIDC_CLAIM": "email"},
         "CARDINAL_OIDC_CLAIM would do nothing"),
        ({"SIGN_IN": "oidc", "OIDC_ISSUER": "https://a"}, "needs CARDINAL_OIDC_CLIENT_ID"),
        ({"SIGN_IN": "oidc", "OIDC_ISSUER": "http://a", "OIDC_CLIENT_ID": "c", "OIDC_CLIENT_SECRET": "s"},
         "CARDINAL_OIDC_ISSUER must begin with https://"),
    ],
)  # fmt: skip
def test_settings_that_do_not_go_together_are_refused(
    tmp_path: Path, given: dict[str, str], problem: str
) -> None:
    environ = {"CARDINAL_HOME": str(tmp_path)} | {f"CARDINAL_{name}": text for name, text in given.items()}
    with pytest.raises(configuration.ConfigError, match=problem) as refused:
        configuration.read(environ, tmp_path)
    assert "proxy.local" not in str(refused.value)


@dataclass
class Provider:
    """An OpenID provider on this machine, which signs what `claims` makes of a request's nonce."""

    issuer: str = ""
    key: Any = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    kid: str = "k1"
    claims: dict[str, Any] = field(default_factory=dict)
    sign: Callable[["Provider", dict[str, Any]], str] | None = None
    discovery: dict[str, Any] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)  # at the person's address
    forms: list[dict[str, str]] = field(default_factory=list)
    userinfo: dict[str, Any] = field(default_factory=dict)
    bearers: list[str] = field(default_factory=list)
    answer: tuple[int, bytes] | None = None  # of the address for tokens, instead of what it should be

    def jwks(self) -> dict[str, Any]:
        public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(self.key.public_key()))
        return {
            "keys": [{"kid": "old", "kty": "oct", "k": "c2VjcmV0"}, {**public, "kid": self.kid, "use": "sig"}]
        }

    def token(self) -> str:
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "sub": "7", "exp": now + 300, "iat": now}
        claims |= {"nonce": self.asked["nonce"], "preferred_username": "bob", **self.claims}
        claims = {name: value for name, value in claims.items() if value is not None}
        if self.sign is not None:
            return self.sign(self, claims)
        return jwt.encode(claims, self.key, "ES256", {"kid": self.kid})

    def config(self) -> dict[str, Any]:
        known = {"issuer": self.issuer, "authorization_endpoint": f"{self.issuer}/authorize"}
        known |= {"token_endpoint": f"{self.issuer}/token", "jwks_uri": f"{self.issuer}/keys"}
        return {**known, **self.discovery}


@pytest.fixture
def provider() -> Iterator[Provider]:
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/userinfo":
                provider.bearers.append(self.headers.get("Authorization", ""))
                return self.answer(provider.userinfo)
            return self.answer(provider.jwks() if self.path == "/keys" else provider.config())

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            provider.forms.append({**form, "header": self.headers.get("Authorization", "")})
            tokens = {"id_token": provider.token(), "access_token": "unused", "token_type": "Bearer"}
            self.send(*(provider.answer or (200, json.dumps(tokens).encode())))

        def answer(self, content: dict[str, Any]) -> None:
            self.send(200, json.dumps(content).encode())

        def send(self, status: int, text: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        provider.issuer = f"http://127.0.0.1:{server.server_port}"
        yield provider
        server.shutdown()
        thread.join(60)


def openid_config(provider: Provider, home: Path) -> Config:
    """Return settings with the provider, for what needs no pages."""
    settings = {"SIGN_IN": "oidc", "OIDC_ISSUER": provider.issuer, "OIDC_CLIENT_ID": CLIENT}
    settings |= {"OIDC_CLIENT_SECRET": "the client's", "HOME": str(home)}
    return configuration.read({f"CARDINAL_{name}": text for name, text in settings.items()}, home)


def at_provider(pages: Pages, provider: Provider) -> Config:
    return replace(
        pages.cardinal.services.config,
        sign_in="oidc",
        oidc_issuer=provider.issuer,
        oidc_client_id=CLIENT,
        oidc_client_secret=Secret("the client's"),
    )


def signs_in(person: TestClient, provider: Provider, **changed: str) -> Response:
    """Go to the provider and come back with its code; `changed` replaces what the browser brings."""
    begun = person.get("/sign-in?next=/runs")
    assert begun.status_code == 302, begun.text
    provider.asked = {
        name: values[0] for name, values in parse_qs(urlsplit(begun.headers["Location"]).query).items()
    }
    back = {"code": "a.code~1", "state": provider.asked["state"], "iss": provider.issuer, **changed}
    return person.get(f"/sign-in/oidc?{urlencode(back)}")


def test_the_provider_says_who_it_is_and_github_what_they_may(pages: Pages, provider: Provider) -> None:
    bob = browser(pages, at_provider(pages, provider))
    entered = signs_in(bob, provider)
    assert (entered.status_code, entered.headers["Location"]) == (303, "/runs")
    assert says(bob.get("/"), "bob")
    asked, (form,) = provider.asked, provider.forms
    assert (asked["response_type"], asked["client_id"], asked["scope"]) == (
        "code",
        CLIENT,
        "openid profile email",
    )
    assert asked["redirect_uri"] == form["redirect_uri"] == f"{PUBLIC}/sign-in/oidc"
    assert (asked["code_challenge_method"], form["code"]) == ("S256", "a.code~1")
    assert form["code_verifier"] not in str(asked)
    assert bob.get(f"/runs/{pages.run()}").status_code == 200


def test_who_is_taken_off_the_list_is_signed_out(pages: Pages, provider: Provider, tmp_path: Path) -> None:
    people = tmp_path / "people"
    people.write_text("bob = bob\n", encoding="utf-8")
    bob = browser(pages, replace(at_provider(pages, provider), sign_in_logins=people))
    signs_in(bob, provider)
    assert (says(bob.get("/"), "bob"), bob.get("/runs").status_code) == (True, 200)
    people.write_text("alice = alice\n", encoding="utf-8")
    assert (says(bob.get("/"), "bob"), bob.get("/runs").status_code) == (False, 401)
    people.unlink()
    assert bob.get("/runs").status_code == 401


def test_what_somebody_holds_ends_with_their_place_on_the_list(
    pages: Pages, provider: Provider, tmp_path: Path
) -> None:
    people = tmp_path / "people"
    people.write_text("bob@acme.example = bob\n", encoding="utf-8")
    web = browser(pages, replace(at_provider(pages, provider), sign_in_logins=people))
    token = {"Authorization": f"Bearer {Program(pages, 'bob').token}"}
    mcp = {**token, "Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

    def codes() -> list[int]:
        with web:
            asked = web.get("/api/v1/whoami", headers=token), web.post("/mcp", json=hello, headers=mcp)
        return [answer.status_code for answer in asked]

    assert codes() == [200, 200]
    people.write_text("alice@acme.example = alice\n", encoding="utf-8")
    refused = web.get("/api/v1/whoami", headers=token).json()
    assert (refused["code"], "not on the operator's list" in refused["detail"]) == ("not_admitted", True)
    assert codes() == [403, 403]
    people.write_text("bob\n", encoding="utf-8")  # no list, so nobody can say who is on it
    assert codes() == [503, 503]


def by_shared_secret(provider: Provider, claims: dict[str, Any]) -> str:
    return jwt.encode(claims, "s" * 40, "HS256", {"kid": "old"})


def unsigned(provider: Provider, claims: dict[str, Any]) -> str:
    return jwt.encode(claims, None, "none", {"kid": provider.kid})  # type: ignore[arg-type]  # none needs none


def by_another_key(provider: Provider, claims: dict[str, Any]) -> str:
    return jwt.encode(claims, ec.generate_private_key(ec.SECP256R1()), "ES256", {"kid": provider.kid})


def by_unknown_key(provider: Provider, claims: dict[str, Any]) -> str:
    return jwt.encode(claims, provider.key, "ES256", {"kid": "another"})


WRONG: tuple[dict[str, Any], ...] = (
    {"claims": {"iss": "https://elsewhere"}},
    {"claims": {"aud": "another-program"}},
    {"claims": {"aud": [CLIENT, "another-program"]}},
    {"claims": {"aud": [CLIENT, "another-program"], "azp": "another-program"}},
    {"claims": {"exp": 1_000_000_000}},
    {"claims": {"iat": 4_000_000_000}},
    {"claims": {"nbf": 4_000_000_000}},
    {"claims": {"nonce": "of another sign-in"}},
    {"claims": {"nonce": None}},
    {"claims": {"exp": None}},
    {"claims": {"sub": None}},
    {"claims": {"preferred_username": None}},
    {"claims": {"preferred_username": ["bob"]}},
    {"sign": by_shared_secret},
    {"sign": unsigned},
    {"sign": by_another_key},
    {"sign": by_unknown_key},
    {"sign": lambda _provider, _claims: "a.b.c"},
)


def test_a_token_that_is_not_for_this_sign_in_names_nobody(provider: Provider, tmp_path: Path) -> None:
    config = openid_config(provider, tmp_path)
    provider.asked = {"nonce": "n"}
    assert openid.name_behind(config, "code", "verifier", "n") == "bob"
    provider.claims = {"aud": [CLIENT, "another-program"], "azp": CLIENT}
    assert openid.name_behind(config, "code", "verifier", "n") == "bob"
    for changed in WRONG:
        provider.claims, provider.sign = changed.get("claims", {}), changed.get("sign")
        with pytest.raises(SignInError):
            print(changed, openid.name_behind(config, "code", "verifier", "n"))


def test_an_answer_that_this_browser_did_not_ask_for_signs_nobody_in(
    pages: Pages, provider: Provider
) -> None:
    bob, other = (browser(pages, at_provider(pages, provider)) for _ in range(2))
    for changed in (
        {"state": "another"},
        {"code": ""},
        {"code": "a b"},
        {"iss": "https://b"},
        {"code": "x" * 5000},
    ):
        assert signs_in(bob, provider, **changed).status_code == 403
        back = {"code": "c", "state": provider.asked["state"]}
        assert other.get(f"/sign-in/oidc?{urlencode(back)}").status_code == 403  # another browser's
    assert provider.forms == []
    address = bob.get("/sign-in").headers["Location"]
    provider.asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    other.cookies.update(dict(bob.cookies.items()))
    address = f"/sign-in/oidc?code=c&state={provider.asked['state']}"
    assert [person.get(address).status_code for person in (bob, other)] == [303, 403]  # it counts once


def test_what_the_provider_refuses_says_who_can_mend_it_and_the_log_how(
    provider: Provider, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = openid_config(provider, tmp_path)
    provider.asked = {"nonce": "n"}
    for answer, said, logged in (
        ((401, b'{"error": "invalid_client"}'), "set CARDINAL_OIDC_CLIENT_ID and", "error=invalid_client"),
        ((400, b'{"error": "invalid_grant"}'), "too old: sign in again", "error=invalid_grant"),
        ((400, b'{"error": "invalid_target"}'), "refused (invalid_target): the operator", "invalid_target"),
        ((400, b'{"error": "<b>"}'), "answered 400, without what was asked: the operator", "/token"),
        ((404, b"<html>"), "answered 404, without what was asked: the operator", "/token"),
        ((200, b"<html>"), "answered 200, without what was asked: the operator", "/token"),
        ((503, b"<html>"), "answered 503: try again soon", "status=503"),
        ((429, b"{}"), "answered 429: try again soon", "status=429"),
        (
            (200, b'{"token_type": "Bearer"}'),
            "no ID token: the operator has to look at the log",
            "token_type",
        ),
    ):
        provider.answer = answer
        caplog.clear()
        with pytest.raises(SignInError) as refused:
            openid.name_behind(config, "code", "verifier", "n")
        assert said in str(refused.value)
        assert logged in caplog.text
    provider.answer, provider.claims = None, {"preferred_username": None}
    caplog.clear()
    with pytest.raises(SignInError, match="it told no preferred_username: the operator"):
        openid.name_behind(config, "code", "verifier", "n")
    assert "CARDINAL_OIDC_CLAIM=preferred_username told=['aud'," in caplog.text


def test_the_doctor_finds_what_would_keep_people_out(provider: Provider, tmp_path: Path) -> None:
    people = tmp_path / "people"
    config = replace(openid_config(provider, tmp_path), sign_in_logins=people)

    def levels(changed: Config = config) -> list[tuple[str, str]]:
        context = DoctorContext(changed, None, Hub(changed, utc_now), utc_now())
        results = [result for check in sign_in.CHECKS for result in check(context)]
        return [(str(it.level), f"{it.message} {it.next_step}") for it in results]

    ((answers, _), (unread, step)) = levels()
    assert (answers, unread, f"{people} cannot be read: No such file" in step) == ("ok", "fail", True)
    people.write_text("bob = bob\n", encoding="utf-8")
    ((level, said),) = levels(replace(config, oidc_issuer=f"{provider.issuer}/"))
    assert (level, f"(provider={provider.issuer})" in said) == ("fail", True)
    ((level, said),) = levels(replace(config, oidc_issuer="http://127.0.0.1:9"))
    assert (level, "can be reached from here" in said) == ("fail", True)
    assert levels(replace(config, sign_in="proxy")) == []


def test_a_refusal_that_comes_back_by_the_browser_is_told(pages: Pages, provider: Provider) -> None:
    bob = browser(pages, at_provider(pages, provider))
    for error, said in (
        ("access_denied", "did not let you in"),
        ("invalid_scope", "refused (invalid_scope): the operator"),
        ("<b>", "did not sign you in: sign in again"),
    ):
        refused = signs_in(bob, provider, code="", error=error)
        assert (refused.status_code, said in refused.text, "<b>" in refused.text) == (403, True, False)


def test_a_provider_may_change_its_key_between_two_sign_ins(provider: Provider, tmp_path: Path) -> None:
    config = openid_config(provider, tmp_path)
    provider.asked = {"nonce": "n"}
    for kid in ("k1", "k2"):
        provider.key, provider.kid = ec.generate_private_key(ec.SECP256R1()), kid
        assert openid.name_behind(config, "code", "verifier", "n") == "bob"


@pytest.mark.parametrize(
    "methods", [None, ["client_secret_post"], ["client_secret_post", "client_secret_basic"]]
)
def test_the_clients_secret_goes_as_the_provider_takes_it(
    provider: Provider, tmp_path: Path, methods: list[str] | None
) -> None:
    provider.asked = {"nonce": "n"}
    if methods:
        provider.discovery = {"token_endpoint_auth_methods_supported": methods}
    config = replace(openid_config(provider, tmp_path), oidc_client_secret=Secret("the client's: 100%"))
    openid.name_behind(config, "code", "verifier", "n")
    (form,) = provider.forms
    secret = base64.b64encode(f"{CLIENT}:the+client%27s%3A+100%25".encode()).decode()
    if methods == ["client_secret_post"]:
        assert (form["client_id"], form["client_secret"], form["header"]) == (
            CLIENT,
            "the client's: 100%",
            "",
        )
    else:
        assert ("client_secret" in form, form["header"]) == (False, f"Basic {secret}")


def test_an_address_of_mail_counts_only_once_it_is_verified(provider: Provider, tmp_path: Path) -> None:
    config = replace(openid_config(provider, tmp_path), oidc_claim="email")
    provider.asked = {"nonce": "n"}
    for verified in (None, False, "true"):
        provider.claims = {"email": "bob@acme.example", "email_verified": verified}
        with pytest.raises(SignInError, match="has not verified"):
            openid.name_behind(config, "code", "verifier", "n")
    provider.claims["email_verified"] = True
    assert openid.name_behind(config, "code", "verifier", "n") == "bob@acme.example"


def test_what_the_id_token_leaves_out_the_provider_says_of_the_same_person_elsewhere(
    provider: Provider, tmp_path: Path
) -> None:
    config = replace(openid_config(provider, tmp_path), oidc_claim="email")
    provider.asked, provider.discovery = {"nonce": "n"}, {"userinfo_endpoint": f"{provider.issuer}/userinfo"}
    bob = {"sub": "7", "email": "bob@acme.example", "email_verified": True}
    for userinfo, because in (
        ({**bob, "sub": "8"}, "about another person"),
        ({**bob, "email_verified": False}, "has not verified"),
        ({"sub": "7", "email_verified": True}, "did not say who you are"),
    ):
        provider.userinfo = userinfo
        with pytest.raises(SignInError, match=because):
            openid.name_behind(config, "code", "verifier", "n")
    provider.userinfo = bob
    assert openid.name_behind(config, "code", "verifier", "n") == "bob@acme.example"
    assert provider.bearers == ["Bearer unused"] * 4
    openid.name_behind(replace(config, oidc_claim="preferred_username"), "code", "verifier", "n")
    assert len(provider.bearers) == 4  # the ID token had it


@pytest.mark.parametrize(
    "discovery",
    [
        {"issuer": "https://elsewhere"},
        {"token_endpoint": None},
        {"jwks_uri": "file:///etc/passwd"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"padding": "x" * 300_000},
    ],
)
def test_a_provider_that_describes_another_one_is_refused(
    provider: Provider, tmp_path: Path, discovery: dict[str, Any]
) -> None:
    provider.discovery = discovery
    with pytest.raises(SignInError):
        openid.way_to_provider(openid_config(provider, tmp_path), "s", "v", "n")
