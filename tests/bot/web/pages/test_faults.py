"""Requests that lead to no page: one design, no detail, and no difference that tells what exists."""

import pytest

from bot.web.authorization import EACH_A_MINUTE
from ledger.events.board import CardSeen
from ledger.ids import CardId
from ledger.log import event_store
from ledger.states import CardState
from ledger.views import cards
from tests.bot.web.pages.test_runs import happens
from tests.bot.web.pages.world import Pages


def explode() -> str:
    raise ValueError("a secret")


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        ("/nothing", "GET", 404),
        ("/runs/r1/nothing", "GET", 404),
        ("/act", "GET", 405),
        ("/explodes", "GET", 500),
    ],
)
def test_what_leads_to_no_page_is_answered_in_the_design_without_a_detail(
    pages: Pages, path: str, method: str, status: int
) -> None:
    pages.app.add_url_rule("/explodes", view_func=explode)
    for browser in (pages.browser("bob"), pages.browser("bob", signed_in=False)):
        answer = browser.get(path, method)
        assert answer.status_code == status
        assert '<html lang="en">' in answer.text
        assert "<main " in answer.text
        assert "a secret" not in answer.text
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert ("POST" in answer.headers.get("Allow", "")) is (status == 405)


def test_whoever_asked_too_often_learns_nothing_of_what_exists(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    assert bob.get("/runs/r999").status_code == 404
    card = pages.cardinal.run(run_id).card_id
    with event_store.reading(pages.cardinal.services.engine) as db:
        row = cards.get(db, card)
    assert row is not None
    rest = (1, "", "", "", "Tasks", CardState.DRAFT)
    elsewhere = (
        CardSeen(CardId(f"X{number}"), row.board_id, "", f"acme/none{number}", *rest)
        for number in range(EACH_A_MINUTE + 1)
    )
    happens(pages, *elsewhere)
    assert bob.get("/").status_code == 503  # more repositories than may be asked about in a minute
    assert [bob.get(f"/runs/{run}").status_code for run in ("r999", "x")] == [503, 503]
