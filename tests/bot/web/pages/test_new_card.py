"""A card made on a page: the person's own, once, where they may move cards."""

from html import unescape
from urllib.parse import urlencode

from werkzeug.test import TestResponse

from bot.web.authorization import KEPT_S
from tests.bot.web.pages.forms import HERE, TEXTUAL
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.world import FIELD, Browser, Pages

BOARD = "/boards/acme/1"
CARD = {"title": "Say hello", "body": "In **Markdown**.", "repository": "acme/shop", "column": "Tasks"}


def submit(browser: Browser, fields: dict[str, str], headers: dict[str, str] = HERE) -> TestResponse:
    more = {"content_type": TEXTUAL, "base_url": browser.public, "headers": headers}
    return browser.here.post(f"{BOARD}/new", data=urlencode(fields), buffered=True, **more)


def token_of(browser: Browser) -> dict[str, str]:
    return {name: unescape(text) for name, text in FIELD.findall(browser.get(f"{BOARD}/new").text)}


def titles(pages: Pages) -> list[str]:
    repo = pages.cardinal.forge.store.repos.get("acme", "shop")
    return [issue.title for issue in repo.issues.values()]


def test_a_card_is_made_once_in_its_column_in_the_name_of_who_asked(pages: Pages) -> None:
    pages.cardinal.catch_up()
    bob = pages.browser("bob")
    fields = CARD | token_of(bob)
    answers = [submit(bob, fields) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert "The card is being created" in answers[0].text
    pages.cardinal.catch_up()
    assert titles(pages).count(CARD["title"]) == 1
    assert "Say hello" in bob.get(BOARD).text
    (issue,) = (it for it in pages.cardinal.repo.issues.values() if it.title == CARD["title"])
    assert "In **Markdown**." in (issue.body or "")
    assert pages.cardinal.card(pages.cardinal.newest).column == "Tasks"
    assert submit(bob, fields | {"title": "Another"}).status_code == 409
    assert submit(bob, fields).headers["Location"] == f"/cards/acme/shop/{issue.number}"


def test_a_form_from_elsewhere_of_another_sign_in_or_for_a_hidden_board_makes_nothing(pages: Pages) -> None:
    pages.cardinal.catch_up()
    bob, alice, mallory = (pages.browser(login) for login in ("bob", "alice", "mallory"))
    fields, before = CARD | token_of(bob), titles(pages)
    elsewhere = HERE | {"Origin": "https://e.example"}
    assert submit(bob, fields, elsewhere).status_code == 403
    assert submit(alice, fields).status_code == 403
    assert submit(bob, fields | {"more": "x"}).status_code == 403
    assert submit(bob, fields | {"column": "Nowhere"}).status_code == 422
    assert submit(bob, fields | {"repository": "globex/site"}).status_code == 422
    assert submit(bob, fields | {"title": ""}).status_code == 422
    assert submit(mallory, CARD | token_of(mallory)).status_code == 403  # may read, and move nothing
    hide(pages.cardinal)
    hide(pages.cardinal, "board")
    pages.cardinal.clock.forward(KEPT_S + 1)
    stranger = pages.browser("mallory")
    assert [stranger.get(f"{BOARD}/new").status_code, submit(stranger, fields).status_code] == [404, 404]
    assert pages.browser("bob", signed_in=False).get(f"{BOARD}/new").status_code == 401
    pages.cardinal.catch_up()
    assert titles(pages) == before
