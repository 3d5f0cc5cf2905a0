"""Lists of cards: of a reader of many repositories, by that reader's own token; and of old cards."""

import pytest

from bot.web.authorization import EACH_A_MINUTE
from forge.store.models import Role
from ledger.events.board import CardSeen
from ledger.ids import CardId
from ledger.states import CardState
from tests.bot.web.pages.test_cards import asked
from tests.bot.web.pages.test_runs import happens
from tests.bot.web.pages.world import Browser, Pages
from tests.published.court import Court

BOARD, TOKEN = "/boards/acme/1", "__Host-cardinal-github"
MANY = 40  # more than anybody may be asked about in a minute


@pytest.fixture
def wide(pages: Pages) -> Pages:
    """Return pages of a board with many repositories: of five, three are bob's, one is everybody's."""
    store, acme = pages.cardinal.forge.store, pages.cardinal.person("acme")
    for number in range(MANY):
        repo = store.repos.create(acme, f"part{number}", private=number % 5 != 0)
        if number % 5 > 1:
            store.repos.set_role(repo, pages.cardinal.person("bob"), Role.READ)
        rest = (number + 100, f"Card {number}.", "", "", "Tasks", CardState.DRAFT)
        happens(
            pages, CardSeen(CardId(f"C{number}"), pages.cardinal.board_id, "", f"acme/part{number}", *rest)
        )
    pages.cardinal.clock.forward(60)
    return pages


def seen(browser: Browser) -> set[int]:
    """Return the numbers of the cards that the board shows."""
    answer = browser.get(f"{BOARD}?column=Tasks")
    assert answer.status_code == 200, answer.text
    return {number for number in range(MANY) if f"Card {number}." in answer.text}


def test_a_board_of_many_repositories_is_seen_at_once_and_no_longer_than_they_may_be(
    wide: Pages, court: Court
) -> None:
    bob, mine = wide.browser("bob"), {number for number in range(MANY) if number % 5 != 1}
    assert seen(bob) == mine
    assert wide.asked() == 0
    listing = "GET /user/installations/{installation_id}/repositories"
    assert listing in court.seen or not court.sits
    repo = wide.cardinal.forge.store.repos.get("acme", "part2")
    wide.cardinal.forge.store.repos.set_role(repo, wide.cardinal.person("bob"), Role.NONE)
    wide.cardinal.clock.forward(181)
    assert seen(bob) == mine - {2}
    bob.get("/sign-out", "POST", Origin=bob.public)
    assert bob.here.get_cookie(TOKEN, domain="cardinal.example.com") is None


def test_a_token_is_of_use_to_its_person_alone_and_not_needed(wide: Pages) -> None:
    bob, mallory = wide.browser("bob"), wide.browser("mallory")
    stolen = bob.here.get_cookie(TOKEN, domain="cardinal.example.com")
    assert stolen is not None
    assert "ghu_" not in stolen.value
    mallory.here.set_cookie(TOKEN, stolen.value, domain="cardinal.example.com", secure=True)
    assert mallory.get(BOARD).status_code == 503  # as without a token: each repository is asked about
    assert (wide.asked(), wide.cardinal.calls("/user/installations")) == (EACH_A_MINUTE, [])
    wide.cardinal.forge.store.faults.load(
        {"api": [{"path": "/user/installations", "status": 502, "count": 1}]}
    )
    assert bob.get(BOARD).status_code == 503
    assert wide.asked() == 2 * EACH_A_MINUTE
    wide.cardinal.clock.forward(61)
    assert 2 in seen(bob)


def test_a_card_that_waits_for_a_day_looks_late(pages: Pages) -> None:
    asked(pages.cardinal)
    assert 'class="late"' not in pages.browser("alice").get("/").text
    pages.cardinal.clock.forward(86_400)
    assert '<span class="late" data-since=' in pages.browser("alice").get("/").text
