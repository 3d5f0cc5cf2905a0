"""The policy in a browser: in force as people read it, and a pasted file compared, which changes nothing."""

from urllib.parse import urlencode

import pytest
from werkzeug.test import TestResponse

from bot.web.pages.policy import MAX_BYTES, PREVIEWS_A_MINUTE
from ledger.log import event_store
from tests.bot.flows.settings import with_column
from tests.bot.web.pages.forms import HERE, TEXTUAL
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.world import Browser, Pages

PATH = "/policy/acme/1"


def paste(browser: Browser, text: str, headers: dict[str, str] = HERE) -> TestResponse:
    data, base = urlencode({"text": text}), browser.public
    return browser.here.post(
        PATH, data=data, content_type=TEXTUAL, base_url=base, headers=headers, buffered=True
    )


def test_the_policy_in_force_is_said_with_what_each_setting_means(pages: Pages) -> None:
    pages.cardinal.set_policy(with_column(budget_usd="7.5", instructions="'<b>'"))
    pages.cardinal.settle()
    bob = pages.browser("bob")
    assert f'<a href="{PATH}">' in bob.get("/boards/acme/1").text
    pages.cardinal.set_policy("version: 2\n")
    pages.cardinal.settle()
    shown = bob.get(PATH).text
    for text in (
        '<td class="whole">budget_usd</td><td class="whole"><bdi>7.5</bdi></td>',
        "<td>Dollars for one run; reached, it parks and asks.</td>",
        '<td class="whole">runs_per_repository</td>',
        "A newer file is not in force",
        "What changed when it came into force",
        "<td>instructions, budget_usd</td>",
        "/blob/",
    ):
        assert text in shown, text
    assert "<b>" not in shown


def test_a_pasted_file_is_compared_and_nothing_is_kept(pages: Pages) -> None:
    bob = pages.browser("bob")
    pages.run()
    with event_store.reading(pages.cardinal.services.engine) as db:
        before = event_store.last_seq(db)
    changed = paste(bob, with_column(budget_usd="9")).text
    assert "<td><bdi>In Progress</bdi></td><td>1</td>" in changed
    assert "up to $9.00" in changed
    wrong = paste(bob, "version: 1\nboard: {columns: {Tasks: {archetype: inbx}}}\n<b>").text
    assert "It cannot be used" in wrong
    assert "line " in wrong
    assert "&lt;b&gt;</textarea>" in wrong
    with event_store.reading(pages.cardinal.services.engine) as db:
        assert event_store.last_seq(db) == before


def test_who_may_not_read_the_policys_repository_and_foreign_pages_get_nothing(pages: Pages) -> None:
    mallory = pages.browser("mallory")
    hide(pages.cardinal, "board")
    nothing = mallory.get("/runs/r999")
    for answer in (mallory.get(PATH), paste(mallory, "version: 1\n"), mallory.get("/policy/acme/9")):
        assert (answer.status_code, answer.text) == (404, nothing.text)
    bob = pages.browser("bob")
    assert paste(bob, "version: 1\n", {"Origin": "https://evil.example"}).status_code == 403
    assert paste(pages.browser("bob", signed_in=False), "version: 1\n").status_code == 401


@pytest.mark.parametrize("text", ["x" * (MAX_BYTES + 1), "a: &a [" + "*a," * 5000 + "]", "[" * 60_000])
def test_a_hostile_file_costs_a_sentence(pages: Pages, text: str) -> None:
    answer = paste(pages.browser("bob"), text)
    assert answer.status_code in (200, 413)
    assert "It cannot be used" in answer.text or "longer than any policy file" in answer.text


def test_comparing_has_a_pace(pages: Pages) -> None:
    bob = pages.browser("bob")
    answers = [paste(bob, "x").status_code for _ in range(PREVIEWS_A_MINUTE + 1)]
    assert answers == [200] * PREVIEWS_A_MINUTE + [503]
