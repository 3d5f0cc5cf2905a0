"""Forms of pages as browsers send them, and cards that have some."""

import re
from html import unescape
from urllib.parse import urlencode

from werkzeug.test import TestResponse

from forge.store.board import Item
from ledger.events.conversation import CommandGiven, CommandRefused
from tests.bot.flows.settings import with_column
from tests.bot.web.pages.world import FIELD, PUBLIC, Browser, Pages

FORM = re.compile(r'<form class="act".*?</form>', re.DOTALL)
HERE = {"Origin": PUBLIC, "Sec-Fetch-Site": "same-origin"}
TEXTUAL = "application/x-www-form-urlencoded"


def forms(browser: Browser, path: str) -> dict[str, dict[str, str]]:
    """Return the fields of each form on a page, by its name; of two of a name the last one."""
    page = browser.get(path)
    assert page.status_code == 200, page.text
    found = (dict(FIELD.findall(form)) for form in FORM.findall(page.text))
    return {unescape(it.get("name", "")): {name: unescape(text) for name, text in it.items()} for it in found}


def send(
    browser: Browser,
    fields: dict[str, str] | str,
    kind: str = TEXTUAL,
    headers: dict[str, str] = HERE,
    path: str = "/act",
) -> TestResponse:
    body = fields if isinstance(fields, str) else urlencode(fields)
    more = {"content_type": kind, "base_url": browser.public, "headers": headers, "buffered": True}
    return browser.here.post(path, data=body, **more)


def at_work(pages: Pages) -> Item:
    """Return a card whose run is at work."""
    return pages.cardinal.at_work()


def asked(pages: Pages, *choices: str) -> Item:
    """Return a card whose agent asks something."""
    item = at_work(pages)
    pages.cardinal.ask(pages.cardinal.run_of(item).run_id, "Which <b>port</b>?", *choices)
    pages.cardinal.catch_up()
    return item


def planned(pages: Pages) -> Item:
    """Return a card whose plan waits for somebody."""
    pages.cardinal.set_policy(with_column(plan_approval="required"))
    pages.cardinal.catch_up()
    item = pages.cardinal.new(column="In Progress")
    pages.cardinal.catch_up()
    pages.cardinal.plan(pages.cardinal.run_of(item).run_id)
    pages.cardinal.catch_up()
    return item


def page_of(pages: Pages, item: Item) -> str:
    card = pages.cardinal.card(item)
    return f"/cards/{card.repository}/{card.number}/{card.card_id}"


def form_to_cancel(pages: Pages, browser: Browser) -> tuple[Item, dict[str, str]]:
    """Return a card with a run at work, and the form that cancels that."""
    item = at_work(pages)
    return item, forms(browser, page_of(pages, item))[f"cancel:{pages.cardinal.run_of(item).run_id}"]


def commands(pages: Pages) -> list[CommandGiven | CommandRefused]:
    return [*pages.cardinal.events(CommandGiven), *pages.cardinal.events(CommandRefused)]
