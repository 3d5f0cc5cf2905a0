"""One command for many cards: nothing before it is confirmed, then each card's own, once."""

import re
from html import unescape
from urllib.parse import urlencode

from werkzeug.test import TestResponse

from bot.web.pages import bulk
from ledger.events.conversation import CommandGiven
from tests.bot.web.pages.forms import HERE, TEXTUAL
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.test_run_list import fail
from tests.bot.web.pages.world import PUBLIC, Browser, Pages

HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')


def post(
    browser: Browser, path: str, fields: list[tuple[str, str]], headers: dict[str, str] = HERE
) -> TestResponse:
    return browser.here.post(
        path, data=urlencode(fields), content_type=TEXTUAL, base_url=PUBLIC, headers=headers, buffered=True
    )


def ask(browser: Browser, cards: list[str], command: str = "retry", text: str = "") -> TestResponse:
    fields = [("command", command), ("text", text), ("back", "/runs"), *(("card", card) for card in cards)]
    return post(browser, bulk.PATH, fields)


def confirm(browser: Browser, planned: TestResponse) -> TestResponse:
    fields = [(name, unescape(text)) for name, text in HIDDEN.findall(planned.text)]
    return post(browser, bulk.CONFIRMED, fields)


def given(pages: Pages) -> list[tuple[str, str]]:
    return [(it.command, it.argument) for it in pages.cardinal.events(CommandGiven)]


def test_each_card_is_retried_once_after_it_was_said_what_would_happen(pages: Pages) -> None:
    failed = [pages.cardinal.run(fail(pages)).card_id for _ in range(2)]
    alive = pages.cardinal.run(pages.run()).card_id
    alice = pages.browser("alice")
    planned = ask(alice, [*failed, alive, failed[0]])
    assert planned.status_code == 200
    assert "Retry: 2 cards" in planned.text
    assert planned.text.count("Not possible now") == 1
    assert given(pages) == []
    done = confirm(alice, planned)
    assert done.text.count("alice gave /cardinal retry") == 2
    again = confirm(alice, planned)
    assert again.status_code == 200
    assert given(pages) == [("retry", "")] * 2
    pages.cardinal.catch_up()
    assert [pages.cardinal.run_of(it).attempt for it in pages.cardinal.project.items[-3:]] == [2, 2, 1]


def test_cards_are_moved_where_the_column_exists(pages: Pages) -> None:
    card, alice = pages.cardinal.run(fail(pages)).card_id, pages.browser("alice")
    assert "Not possible now" in ask(alice, [card], "move", "Nowhere").text
    confirm(alice, ask(alice, [card], "move", "Tasks"))
    assert given(pages) == [("move", "Tasks")]


def test_what_is_no_request_of_these_pages_does_nothing(pages: Pages) -> None:
    card, alice = pages.cardinal.run(fail(pages)).card_id, pages.browser("alice")
    assert ask(alice, []).status_code == 400
    assert ask(alice, [card], "stop-all").status_code == 400
    assert "Say what: Why." in ask(alice, [card], "block").text
    assert "At most 50 cards" in ask(alice, [f"X{number}" for number in range(51)]).text
    planned = ask(alice, [card])
    assert confirm(pages.browser("bob"), planned).status_code == 400  # her tokens are of her sign-in
    foreign = {**HERE, "Origin": "https://evil.example"}
    assert post(alice, bulk.CONFIRMED, HIDDEN.findall(planned.text), foreign).status_code == 403
    assert post(pages.browser("bob", signed_in=False), bulk.PATH, []).status_code == 401
    assert given(pages) == []


def test_who_may_not_see_a_card_learns_nothing_of_it_and_who_may_not_act_does_not(pages: Pages) -> None:
    card = pages.cardinal.run(fail(pages)).card_id
    reader = ask(pages.browser("mallory"), [card])
    assert ("Not possible now" in reader.text, 'name="token"' in reader.text) == (True, False)
    hide(pages.cardinal)
    hidden = ask(pages.browser("mallory"), [card])
    pages.cardinal.clock.forward(400)
    hidden = ask(pages.browser("mallory"), [card])
    assert "acme/shop" not in hidden.text


def test_so_many_requests_a_minute_are_enough(pages: Pages) -> None:
    card, alice = pages.cardinal.run(fail(pages)).card_id, pages.browser("alice")
    planned = ask(alice, [card])
    codes = [confirm(alice, planned).status_code for _ in range(bulk.A_MINUTE + 1)]
    assert codes == [200] * bulk.A_MINUTE + [503]
    assert given(pages) == [("retry", "")]
