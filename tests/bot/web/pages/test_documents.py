"""A run, a card and a board are saved as Markdown by whoever may see them."""

import re

import pytest

from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.world import Pages


@pytest.mark.parametrize("kind", ["run", "card", "board"])
def test_each_page_links_its_document_for_its_readers_alone(pages: Pages, kind: str) -> None:
    item = pages.cardinal.new("Mail <b>when</b> an order ships", "In Progress")
    pages.cardinal.catch_up()
    run_id, number = pages.cardinal.run_of(item).run_id, pages.cardinal.card(item).number
    page = {"run": f"/runs/{run_id}", "card": f"/cards/acme/shop/{number}", "board": "/boards/acme/1"}[kind]
    bob, mallory = pages.browser("bob"), pages.browser("mallory")
    (path,) = re.findall(r'<a (?:class="[^"]*" )?href="([^"]+\.md)" download', bob.get(page).text)
    saved = bob.get(path)
    assert (saved.status_code, saved.content_type) == (200, "text/markdown; charset=utf-8")
    assert re.match(r'attachment; filename="[\w-]+\.md"', saved.headers["Content-Disposition"])
    assert re.search("an.order.ships", saved.text)
    assert "<b>" not in saved.text
    assert bob.get(f"{path}?x=1").status_code == 400
    hide(pages.cardinal)
    hide(pages.cardinal, "board")
    pages.cardinal.clock.forward(400)
    assert mallory.get(path).status_code == 404
    assert pages.browser("bob", signed_in=False).get(path).status_code == 401
