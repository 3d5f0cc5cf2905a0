"""Signing in: one browser's own answer from GitHub, once, within ten minutes; and a visit that ends."""

import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Blueprint
from sqlalchemy import func, select

from bot.github import oauth
from bot.github.oauth import SignInError
from bot.system import config as configuration
from bot.web.app import make_app
from bot.web.authorization import RequestLimiter
from bot.web.pages.sign_in import own_path
from bot.web.site.layout import Site
from ledger.db.tables import spent_states
from ledger.log import event_store
from tests.bot.flows.cardinal import Clock
from tests.bot.web.pages.world import PUBLIC, WAIT_S, Browser, Pages
from tests.published.court import Court

NOTHING: tuple[Any, Any, Any, Any, Any, Any] = (
    None,
    None,
    None,
    None,
    None,
    None,
)  # what a name of a cookie does not need
SIGN_IN = "__Host-cardinal-sign-in"
PROTECTED = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self';"
    f" script-src {PUBLIC}/assets/; connect-src 'self'; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'",
}


def asked(address: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


def signed_in(browser: Browser) -> bool:
    return f"signed in as {browser.login}" in browser.get("/").text


def test_github_is_asked_with_a_state_and_a_challenge_and_says_who_it_is(pages: Pages, court: Court) -> None:
    bob = pages.browser("bob", signed_in=False)
    asks = f"asks the GitHub at {urlsplit(pages.cardinal.forge.url).netloc} whether"
    assert [asks in bob.get(path).text for path in ("/", "/runs/r1")] == [True, True]
    address = bob.begins()
    sent = asked(address)
    assert address.startswith(f"{pages.cardinal.forge.url}/login/oauth/authorize?")
    assert sent["redirect_uri"] == f"{PUBLIC}/sign-in/back"
    assert sent["code_challenge_method"] == "S256"
    assert len(sent["state"]) > 40
    assert bob.get(bob.agrees(address)).status_code == 303
    assert signed_in(bob)
    assert "GET /user" in court.seen or not court.sits


def test_the_cookies_are_for_this_host_over_tls_and_for_no_script(pages: Pages) -> None:
    bob = pages.browser("bob", signed_in=False)
    begun = bob.get("/sign-in")
    back = bob.agrees(begun.headers["Location"])
    for answer in (begun, bob.get(back)):
        for one in answer.headers.getlist("Set-Cookie"):
            assert one.startswith("__Host-cardinal")
            assert {"Secure", "HttpOnly", "Path=/", "SameSite=Lax"} <= set(one.split("; "))
            assert "ghu_" not in one


def test_the_cookies_last_as_long_as_what_they_stand_for(pages: Pages) -> None:
    bob = pages.browser("bob", signed_in=False)
    begun = bob.get("/sign-in")
    arrived = bob.get(bob.agrees(begun.headers["Location"]))
    lasting = [one for answer in (begun, arrived) for one in answer.headers.getlist("Set-Cookie")]
    told = [(one.partition("=")[0], re.findall(r"Max-Age=(\d+)", one)) for one in lasting]
    mine = [("__Host-cardinal", ["28800"]), ("__Host-cardinal-github", ["28800"])]
    assert sorted(told) == [*mine, (SIGN_IN, ["0"]), (SIGN_IN, ["600"])]


def test_who_signs_in_again_ends_the_visit_before(pages: Pages) -> None:
    bob = pages.browser("bob")
    before = bob.here.get_cookie("__Host-cardinal", domain="cardinal.example.com")
    assert before is not None
    assert bob.signs_in().status_code == 303
    bob.here.set_cookie("__Host-cardinal", before.value, domain="cardinal.example.com", secure=True)
    assert not signed_in(bob)


def test_no_page_is_framed_kept_or_loads_anything(pages: Pages) -> None:
    bob, nobody = pages.browser("bob"), pages.browser("bob", signed_in=False)
    run_id = pages.run()
    pages.cardinal.services.hub.budget.close(300)
    bob.here.delete_cookie("__Host-cardinal-github", domain="cardinal.example.com")
    busy = bob.get(f"/runs/{run_id}/artifacts")
    answers = [busy, bob.get("/"), bob.get("/runs/r999/artifacts"), nobody.get("/"), nobody.get("/sign-in")]
    answers += [nobody.get("/sign-in/back"), nobody.get("/runs/r999/artifacts")]
    assert [one.status_code for one in answers] == [503, 503, 404, 200, 302, 403, 401]
    for one in answers:
        assert {name: one.headers.get(name) for name in PROTECTED} == PROTECTED
        loaded = re.findall(r'(?:src|<link rel="\w+"[^>]* href)="([^"]+)"', one.text)
        assert all(path.startswith("/assets/") for path in loaded), loaded
    assert answers[-1].headers["WWW-Authenticate"] == 'Cookie realm="cardinal"'


def test_an_answer_for_another_browser_signs_nobody_in(pages: Pages) -> None:
    bob, mallory = pages.browser("bob", signed_in=False), pages.browser("mallory", signed_in=False)
    back = mallory.agrees(mallory.begins())
    refused = bob.get(back)  # a link that somebody sent: bob would work as mallory
    assert (refused.status_code, "not started in this browser" in refused.text) == (403, True)
    bob.begins()
    refused = bob.get(back)
    assert (refused.status_code, "started in another browser" in refused.text) == (403, True)
    assert not signed_in(bob)


def test_a_cookie_that_was_made_up_is_none(pages: Pages) -> None:
    bob = pages.browser("bob", signed_in=False)
    back = bob.agrees(bob.begins())
    for word in ("gAAAAAB", "x" * 3000, "\u00e4"):
        bob.here.set_cookie(SIGN_IN, word, domain="cardinal.example.com", secure=True)
        assert bob.get(back).status_code == 403
    bob.here.set_cookie("__Host-cardinal", "made-up", domain="cardinal.example.com", secure=True)
    assert not signed_in(bob)


def test_an_answer_counts_once(pages: Pages) -> None:
    bob = pages.browser("bob", signed_in=False)
    back = bob.agrees(bob.begins())
    kept = bob.here.get_cookie(SIGN_IN, domain="cardinal.example.com")
    assert kept is not None
    assert bob.get(back).status_code == 303
    assert bob.here.get_cookie(SIGN_IN, domain="cardinal.example.com") is None
    again = pages.browser("bob", signed_in=False)
    again.here.set_cookie(SIGN_IN, kept.value, domain="cardinal.example.com", secure=True)
    refused = again.get(back)
    assert (refused.status_code, "this sign-in was already used" in refused.text) == (403, True)
    assert not signed_in(again)


def test_a_code_is_worth_nothing_twice_or_in_another_sign_in(pages: Pages) -> None:
    bob, mallory = pages.browser("bob"), pages.browser("mallory", signed_in=False)
    used = bob.agrees(bob.begins())
    bob.get(used)
    stolen = bob.agrees(bob.begins())  # never used: PKCE alone keeps it bob's
    for code in (asked(used)["code"], asked(stolen)["code"]):
        state = asked(mallory.begins())["state"]
        refused = mallory.get(f"/sign-in/back?code={code}&state={state}")
        assert (refused.status_code, "used before or is too old" in refused.text) == (403, True)
    assert not signed_in(mallory)


def test_who_comes_back_without_a_code_writes_nothing(pages: Pages) -> None:
    bob = pages.browser("bob", signed_in=False)
    for code in ("", "a%20b", "x" * 201):
        state = asked(bob.begins())["state"]
        refused = bob.get(f"/sign-in/back?state={state}&code={code}&error=made_up")
        assert (refused.status_code, "GitHub refused: sign in again" in refused.text) == (403, True)
    with event_store.reading(pages.cardinal.services.engine) as db:
        assert db.scalar(select(func.count()).select_from(spent_states)) == 0


def test_what_the_operators_netrc_says_of_github_signs_nobody_in(
    pages: Pages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("default login alice password hers\n")
    monkeypatch.setenv("NETRC", str(netrc))
    bob = pages.browser("bob")
    assert signed_in(bob)


def test_who_takes_more_than_ten_minutes_begins_again(pages: Pages) -> None:
    bob = pages.browser("bob", signed_in=False)
    back = bob.agrees(bob.begins())
    pages.cardinal.clock.forward(601)
    refused = bob.get(back)
    assert (refused.status_code, "more than ten minutes" in refused.text) == (403, True)


def test_a_visit_ends_after_eight_hours_and_at_once_when_somebody_signs_out(pages: Pages) -> None:
    bob = pages.browser("bob")
    kept = bob.here.get_cookie("__Host-cardinal", domain="cardinal.example.com")
    assert kept is not None
    assert bob.get("/sign-out", "POST", Origin="https://evil.example").status_code == 403
    assert signed_in(bob)
    assert bob.get("/sign-out", "POST", Origin=PUBLIC).status_code == 303
    assert bob.here.get_cookie("__Host-cardinal", domain="cardinal.example.com") is None
    bob.here.set_cookie("__Host-cardinal", kept.value, domain="cardinal.example.com", secure=True)
    assert not signed_in(bob)
    bob.signs_in()
    pages.cardinal.clock.forward(8 * 3600 - 60)
    assert signed_in(bob)
    pages.cardinal.clock.forward(120)
    assert not signed_in(bob)


def test_what_github_refuses_is_a_sentence_with_the_next_step(pages: Pages) -> None:
    bob = pages.browser("bob", signed_in=False)
    denied = bob.get(bob.agrees(bob.begins(), agreed=False))
    assert (denied.status_code, "you did not authorize Cardinal on GitHub" in denied.text) == (403, True)
    state = asked(bob.begins())["state"]
    wrong = bob.get(f"/sign-in/back?error=redirect_uri_mismatch&state={state}")
    assert "followed by /sign-in/back" in wrong.text
    for app in pages.cardinal.forge.store.apps.all():
        app.client_secret = "a new one"
    refused = bob.signs_in()
    assert (refused.status_code, "set CARDINAL_CLIENT_ID and" in refused.text) == (403, True)
    assert "a new one" not in refused.text


def test_a_github_that_does_not_answer_is_a_sentence_without_secrets(
    pages: Pages, caplog: pytest.LogCaptureFixture
) -> None:
    bob = pages.browser("bob", signed_in=False)
    shop = pages.cardinal.services
    away = replace(shop.config, git_url="http://127.0.0.1:9")
    bob.app = make_app(away, shop.engine, pages.cardinal.clock)
    back = bob.agrees(bob.begins())
    bob.here.application = bob.app
    refused = bob.get(back)
    assert (refused.status_code, "GitHub did not answer" in refused.text) == (403, True)
    assert shop.config.client_secret.reveal() not in refused.text + caplog.text


@contextmanager
def answering(*answers: tuple[int, str]) -> Iterator[str]:
    """Give the address of a server that answers so, one after another."""
    left = list(answers)

    class Answer(BaseHTTPRequestHandler):
        """Answers with what is next."""

        def do_POST(self) -> None:
            status, body = left.pop(0)
            self.send_response(status)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        do_GET = do_POST

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Answer) as server, ThreadPoolExecutor(1) as threads:
        threads.submit(server.serve_forever, 0.01)
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


TOKEN = (200, '{"access_token": "ghu_x"}')


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (((500, "{}"),), "GitHub answered 500"),
        (((302, "{}"), TOKEN), "GitHub answered 302"),
        (((200, "[]"),), "GitHub answered 200"),
        (((200, "<html>"),), "GitHub did not answer"),
        (((200, "{}"),), "GitHub refused"),
        ((TOKEN, (401, "{}")), "GitHub answered 401"),
        ((TOKEN, (200, '{"login": "bob"}')), "GitHub refused"),
        ((TOKEN, (200, '{"id": "4", "login": "bob"}')), "GitHub refused"),
        ((TOKEN, (200, '{"id": 4, "login": null}')), "GitHub refused"),
    ],
)
def test_an_answer_that_is_not_githubs_signs_nobody_in(
    tmp_path: Path, answers: tuple[tuple[int, str], ...], said: str
) -> None:
    given = {"CARDINAL_PUBLIC_URL": PUBLIC, "CARDINAL_CLIENT_ID": "Iv1", "CARDINAL_CLIENT_SECRET": "s"}
    with answering(*answers) as url:
        config = replace(configuration.read(given, tmp_path), git_url=url, github_url=url)
        with pytest.raises(SignInError, match=said):
            oauth.who(config, "code", "verifier")


def test_a_slow_github_holds_up_few_threads(pages: Pages) -> None:
    shop = pages.cardinal.services
    backs = []
    for login in ("alice", "bob", "carol"):
        browser = pages.browser(login, signed_in=False)
        backs.append((browser, browser.agrees(browser.begins())))
    with socket.create_server(("127.0.0.1", 0)) as silent, ThreadPoolExecutor(2) as threads:
        silent.settimeout(WAIT_S)
        slow = replace(shop.config, git_url=f"http://127.0.0.1:{silent.getsockname()[1]}")
        app = make_app(slow, shop.engine, pages.cardinal.clock)
        for browser, _ in backs:
            browser.here.application = app
        *first, (last, back) = backs
        waiting = [threads.submit(browser.get, path) for browser, path in first]
        asked_by = [silent.accept()[0] for _ in waiting]
        assert "too many people are signing in right now" in last.get(back).text
        for one in asked_by:
            one.close()
        assert ["GitHub did not answer" in one.result(WAIT_S).text for one in waiting] == [True, True]


def test_strangers_cannot_make_cardinal_ask_github_without_end(pages: Pages) -> None:
    mallory = pages.browser("mallory", signed_in=False)
    said = []
    for number in range(31):
        state = asked(mallory.begins())["state"]
        said.append(mallory.get(f"/sign-in/back?code=guess{number}&state={state}").text)
    assert all("used before or is too old" in one for one in said[:30])
    assert "too many people are signing in right now" in said[30]


def test_there_is_no_way_in_without_a_public_address(pages: Pages) -> None:
    shop = pages.cardinal.services
    app = make_app(replace(shop.config, public_url=""), shop.engine, pages.cardinal.clock)
    for path in ("/", "/sign-in", "/sign-in/back", "/runs/r1/artifacts"):
        assert app.test_client().get(path).status_code == 404


@pytest.mark.parametrize(
    "elsewhere",
    ["", "https://evil.example", "//evil.example", "/\\evil.example", "/runs//evil", "runs/r1/artifacts",
     "/runs/r1/artifacts?next=//evil", "/sign-out", "/runs/r1\r\nX: y", f"/runs/{'r' * 500}",
     "/?acted=1", "/?label=a&", "/?label=//evil", f"/?label={'x' * 1001}"],
)  # fmt: skip
def test_nobody_is_sent_elsewhere_after_signing_in(elsewhere: str) -> None:
    assert own_path(elsewhere) == "/"


def test_a_path_of_these_pages_is_gone_on_to() -> None:
    queries = (
        "/?search=a+b&state=failed&label=area%2Ftill",
        "/boards/acme/1?column=&page=2",
        "/money?days=7",
        "/policy/acme/1",
        "/health",
        "/cards/acme/shop/1?zoom=debug&before=9",
    )
    for path in ("/hosts", "/runs/r1/artifacts", f"/artifacts/r1/{'a' * 64}/full-1-pytest.txt", *queries):
        assert own_path(path) == path


def test_a_pace_lets_so_many_through_in_a_minute_and_in_an_hour() -> None:
    clock = Clock()
    pace = RequestLimiter(clock, each=2, of_all=5, shared=False)
    assert [pace.take("a") for _ in range(3)] == [True, True, False]
    assert pace.take("b")
    clock.forward(61)
    assert [pace.take("a") for _ in range(3)] == [True, True, False]
    assert not pace.take("c")  # five in the hour
    clock.forward(3600)
    assert pace.take("c")


def test_nobody_takes_what_an_hour_has_for_all() -> None:
    pace = RequestLimiter(Clock(), each=100, of_all=16)
    taken = [sum(pace.take(who) for _ in range(20)) for who in ("mallory", "mallory", "eve", "bob", "alice")]
    assert taken == [8, 0, 4, 2, 1]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"CLIENT_ID": "Iv1", "CLIENT_SECRET": "s"}, ""),
        ({"CLIENT_ID": "Iv1"}, "CARDINAL_PUBLIC_URL is set without"),
        (
            {"PUBLIC_URL": "https://a.example/path", "CLIENT_ID": "a", "CLIENT_SECRET": "s"},
            "CARDINAL_PUBLIC_URL",
        ),
        (
            {"PUBLIC_URL": "javascript:alert(1)", "CLIENT_ID": "a", "CLIENT_SECRET": "s"},
            "CARDINAL_PUBLIC_URL",
        ),
    ],
)
def test_the_settings_belong_together(tmp_path: Path, given: dict[str, str], problem: str) -> None:
    given = {"PUBLIC_URL": "http://127.0.0.1:8484/", **given}
    environ = {f"CARDINAL_{name}": text for name, text in given.items()}
    if problem:
        with pytest.raises(configuration.ConfigError, match=problem):
            configuration.read(environ, tmp_path)
        return
    config = configuration.read(environ, tmp_path)
    assert config.public_url == "http://127.0.0.1:8484"
    assert re.fullmatch("cardinal", Site(config, *NOTHING, blueprint=Blueprint("x", "y")).cookie)
