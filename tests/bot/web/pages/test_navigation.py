"""What the frame of each page asks for: boards with their counts, and what the palette finds, for whom."""

from typing import Any

from ledger.states import CardState
from tests.bot.web.pages.forms import FORM, asked, commands, page_of, send
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.test_filters import add
from tests.bot.web.pages.world import FIELD, Browser, Pages


def found(reader: Browser, query: str, at: str = "") -> list[dict[str, Any]]:
    answer = reader.get(f"/find.json?q={query}&at={at}")
    assert answer.status_code == 200, answer.text
    listed: list[dict[str, Any]] = answer.get_json()["found"]
    return listed


def names(reader: Browser, query: str, at: str = "") -> list[str]:
    return [it["name"] for it in found(reader, query, at)]


def test_the_palette_finds_cards_runs_boards_and_pages(pages: Pages) -> None:
    item = asked(pages)
    run_id, title = pages.cardinal.run_of(item).run_id, pages.cardinal.card(item).title
    alice = pages.browser("alice")
    assert [it["path"] for it in found(alice, title.split()[0].lower())] == [
        page_of(pages, item), f"/runs/{run_id}",
    ]  # fmt: skip
    assert names(alice, run_id)[0] == f"Run {run_id}"
    of_board = ["/boards/acme/1", "/boards/acme/1/new", "/policy/acme/1"]
    assert [it["path"] for it in found(alice, "board")] == of_board
    assert "Inbox" in names(alice, "")


def test_on_a_board_it_has_the_commands_for_the_whole_board(pages: Pages) -> None:
    asked(pages)
    board = "/boards/acme/1"
    assert names(pages.browser("alice"), "stop+runs", board) == ["Stop all runs"]
    assert names(pages.browser("bob"), "stop+runs", board) == []  # who may not give it
    assert names(pages.browser("alice"), "stop+runs", "/boards/acme/2") == []


def test_it_has_each_command_that_the_reader_may_give_on_the_card_and_gives_it_once(pages: Pages) -> None:
    item = asked(pages, "8080", "8081")
    alice, place = pages.browser("alice"), page_of(pages, item)
    listed = {it["name"] for it in found(alice, "", place) if it["icon"] == "command"}
    assert {"Answer", "Cancel", "link", "subscribe"} <= listed
    run = f"/runs/{pages.cardinal.run_of(item).run_id}"
    assert found(alice, "", place) == found(alice, "", run) == found(alice, "", place.rpartition("/")[0])
    assert names(alice, "cancel+end", place) == ["Cancel"]
    (cancel,) = found(alice, "cancel+end", place)
    html = alice.get(f"/find.json?q=cancel&at={place}").get_json()["forms"][cancel["form"]]
    (form,) = FORM.findall(html)
    send(alice, dict(FIELD.findall(form)))
    assert [it.command for it in commands(pages)] == ["cancel"]


def test_nobody_finds_what_they_may_not_read_or_gives_what_they_may_not_give(pages: Pages) -> None:
    item = asked(pages)
    run_id, place = pages.cardinal.run_of(item).run_id, page_of(pages, item)
    title = pages.cardinal.card(item).title.split()[0]
    hide(pages.cardinal)
    pages.cardinal.clock.forward(181)
    mallory = pages.browser("mallory")
    for query in (title, run_id, "acme/shop"):
        assert [it for it in names(mallory, query, place) if title in it or run_id in it] == []
    assert {it["icon"] for it in found(mallory, "", place)}.isdisjoint({"command"})
    for path in ("/nav.json", "/find.json"):
        assert pages.browser("bob", signed_in=False).get(path).status_code == 401


def test_what_is_asked_and_found_is_bounded(pages: Pages) -> None:
    add(pages, 30, "Basket <&>", CardState.FAILED, "bug", "bob", "acme/shop")
    alice = pages.browser("alice")
    answer = alice.get(f"/find.json?q=basket+{'x' * 5000}")
    assert (answer.status_code, answer.get_json()["found"]) == (200, [])
    assert len(found(alice, "basket")) == 8
    assert alice.get("/find.json?q=a&other=1").status_code == 400
    for at in ("/cards/acme/shop/1/nothing", "/runs/r9", "/runs/x", "/cards/../../etc/passwd", "//", "%00"):
        assert found(alice, "cancel", at) == []
