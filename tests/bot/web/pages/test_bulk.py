"""One command for many cards: nothing before it is confirmed, then each card's own, once."""

import re
from html import unescape
from urllib.parse import urlencode

from werkzeug.test import TestResponse

from bot.web.pages import bulk
from forge.store.models import Role
from ledger.events.conversation import CommandGiven
from tests.bot.flows.people import issue_of
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
    assert planned.text.count("Skipped: not possible") == 1
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
    assert "Skipped: not possible" in ask(alice, [card], "move", "Nowhere").text
    confirm(alice, ask(alice, [card], "move", "Tasks"))
    assert given(pages) == [("move", "Tasks")]


def test_cards_get_labels(pages: Pages) -> None:
    card, alice = pages.cardinal.run(fail(pages)).card_id, pages.browser("alice")
    confirm(alice, ask(alice, [card], "label", "flaky, area:api"))
    pages.cardinal.catch_up()
    (item,) = (it for it in pages.cardinal.project.items if it.node_id == card)
    assert {label.name for label in issue_of(item).labels} >= {"flaky", "area:api"}


def test_what_is_no_request_of_these_pages_does_nothing(pages: Pages) -> None:
    card, alice = pages.cardinal.run(fail(pages)).card_id, pages.browser("alice")
    assert ask(alice, []).status_code == 400
    assert ask(alice, [card], "stop-all").status_code == 400
    assert "Fill in the text field: Reason" in ask(alice, [card], "block").text
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
    assert ("Skipped: not possible" in reader.text, 'name="token"' in reader.text) == (True, False)
    hide(pages.cardinal)
    hidden = ask(pages.browser("mallory"), [card])
    pages.cardinal.clock.forward(400)
    hidden = ask(pages.browser("mallory"), [card])
    assert "acme/shop" not in hidden.text


def test_the_role_is_that_of_now_and_only_commands_for_many_are_taken(pages: Pages) -> None:
    card, bob = pages.cardinal.run(fail(pages)).card_id, pages.browser("bob")
    planned = ask(bob, [card])
    approve = [
        (name, unescape(text).replace("retry:", "approve:")) for name, text in HIDDEN.findall(planned.text)
    ]
    assert post(bob, bulk.CONFIRMED, approve).status_code == 400
    shop = pages.cardinal.forge.store.repos.get("acme", "shop")
    pages.cardinal.forge.store.repos.set_role(shop, pages.cardinal.person("bob"), Role.READ)
    assert "#circle-x" in confirm(bob, planned).text
    assert given(pages) == []


def test_so_many_commands_a_minute_are_enough(pages: Pages) -> None:
    card, alice = pages.cardinal.run(fail(pages)).card_id, pages.browser("alice")
    planned = ask(alice, [card])
    fields = [(name, unescape(text)) for name, text in HIDDEN.findall(planned.text)]
    once = [it for it in fields if it[0] in ("card", "name", "token")]
    many = [*fields, *once * (bulk.MAX_CARDS - 1)]
    assert post(alice, bulk.CONFIRMED, many).text.count("too many such requests") == 0
    rest = bulk.MAX_CARDS * 2 - bulk.CARDS_A_MINUTE
    assert post(alice, bulk.CONFIRMED, many).text.count("too many such requests") == rest
    codes = [ask(alice, [card]).status_code for _ in range(bulk.PLANS_A_MINUTE)]
    assert (codes[0], codes[-1]) == (200, 503)
    assert given(pages) == [("retry", "")]
