"""The page of tokens: one is made and shown once, works, and is revoked; strangers make none."""

import re
from urllib.parse import urlencode

from werkzeug.test import TestResponse

from bot.github.api import roles
from bot.web.api.sending import ROOT
from tests.bot.web.pages.forms import HERE, TEXTUAL
from tests.bot.web.pages.world import PUBLIC, Browser, Pages

WANTED = {"name": "nightly", "scope": "act", "days": "30"}


def send(browser: Browser, path: str, fields: dict[str, str], headers: dict[str, str] = HERE) -> TestResponse:
    more = {"content_type": TEXTUAL, "base_url": PUBLIC, "headers": headers}
    return browser.here.post(path, data=urlencode(fields), **more)


def test_a_token_is_shown_once_works_and_is_revoked_by_whose_it_is(pages: Pages) -> None:
    bob, alice = pages.browser("bob"), pages.browser("alice")
    assert send(bob, "/tokens", WANTED, {"Origin": "https://evil.example"}).status_code == 403
    made = send(bob, "/tokens", WANTED)
    (text,) = re.findall(r"cardinal_[0-9a-f]{48}", made.text)
    page = bob.get("/tokens").text
    assert text not in page
    assert "nightly" in page
    assert "nightly" not in alice.get("/tokens").text
    headers = {"Authorization": f"Bearer {text}"}
    answer = pages.app.test_client().get(f"{ROOT}/whoami", base_url=PUBLIC, headers=headers)
    assert (answer.get_json()["login"], answer.get_json()["scopes"]) == ("bob", ["act"])
    (token_id,) = re.findall(r'name="token" value="([0-9a-f]+)"', page)
    for browser, status in ((alice, 200), (bob, 401)):
        assert send(browser, "/tokens/revoke", {"token": token_id}).status_code == 303
        answer = pages.app.test_client().get(f"{ROOT}/whoami", base_url=PUBLIC, headers=headers)
        assert answer.status_code == status


def test_an_unfit_token_is_not_made(pages: Pages) -> None:
    bob = pages.browser("bob")
    for wrong in ({"name": "\u202e"}, {"scope": "all"}, {"days": "9999"}):
        assert send(bob, "/tokens", {**WANTED, **wrong}).status_code == 400
    assert pages.browser("bob", signed_in=False).get("/tokens").status_code == 401
    assert "Revoke" not in bob.get("/tokens").text


def test_a_machine_account_is_found_by_its_login(pages: Pages) -> None:
    bob = pages.cardinal.person("bob")
    assert roles.account_of(pages.cardinal.services.hub, "BOB") == (bob.id, "bob")
