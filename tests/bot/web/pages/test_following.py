"""Pages of cards say that there is news: of what their reader may see, and of nothing else."""

import re
from contextlib import closing

from bot.web.live.streams import StreamLimits
from ledger.event import Event
from ledger.events.board import CardArchived, CardExplained, StopOrdered
from ledger.events.person import NoticesChosen
from ledger.events.run import AgentSaid
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queries.card_news import MAX_EVENTS
from ledger.views import cards
from tests.bot.web.live.reading import Reader
from tests.bot.web.live.serving import serving
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.test_boards import BOARD, hidden_card
from tests.bot.web.pages.test_runs import after, happens, messages
from tests.bot.web.pages.world import Browser, Pages


def place_of(browser: Browser, path: str) -> tuple[str, str]:
    """Return the address of an open page's stream, and the last event that it shows."""
    page = browser.get(path)
    (live,) = re.findall(r'data-live="([^"]+)"', page.text)
    assert page.text.count('<script src="/live/page.js"') == 1  # without it nobody reads the stream
    return live, after(page)


def news(browser: Browser, place: tuple[str, str]) -> list[str]:
    return [message.event for message in messages(browser.get(f"{place[0]}?after={place[1]}"))]


def test_each_page_of_cards_says_when_its_own_cards_change(pages: Pages) -> None:
    mine, other = (pages.cardinal.run(pages.run()) for _ in range(2))
    bob = pages.browser("bob")
    with event_store.reading(pages.cardinal.services.engine) as db:
        card_row = cards.get(db, mine.card_id)
    number = card_row.number if card_row else 0
    inbox, board, card = (place_of(bob, path) for path in ("/", BOARD, f"/cards/acme/shop/{number}"))

    def seen() -> list[bool]:
        return [news(bob, place) == ["news"] for place in (inbox, board, card)]

    assert seen() == [False, False, False]
    happens(pages, AgentSaid(other.run_id, "of another card"))
    assert seen() == [True, True, False]
    happens(pages, CardExplained(mine.card_id, "of this one"))
    assert seen() == [True, True, True]
    inbox, board, card = (place_of(bob, path) for path in ("/", BOARD, f"/cards/acme/shop/{number}"))
    happens(pages, StopOrdered(pages.cardinal.board_id, "column", "Tasks", "alice"))
    assert seen() == [True, True, False]
    inbox, board, card = (place_of(bob, path) for path in ("/", BOARD, f"/cards/acme/shop/{number}"))
    happens(pages, CardArchived(mine.card_id, "archived"))
    assert seen() == [True, True, True]


def test_nothing_tells_of_what_its_reader_may_not_see(pages: Pages) -> None:
    secret = hidden_card(pages, "S")
    bob = pages.browser("bob")
    places = [place_of(bob, path) for path in ("/", BOARD)]
    chosen = NoticesChosen(1, "alice", "pages", (), 0, "00:00", "00:00", "UTC")
    happens(pages, CardExplained(secret, "hush"), CardExplained(CardId("nobody"), "of no card"), chosen)
    assert [news(bob, place) for place in places] == [[], []]
    for path in ("/live/inbox", f"/live{BOARD}", f"/live/cards/{secret}"):
        assert pages.browser("bob", signed_in=False).get(path).status_code == 401, path
    assert bob.get(f"/live/cards/{secret}").status_code == 404
    run = pages.cardinal.run(pages.run())
    hide(pages.cardinal)
    mallory = pages.browser("mallory")
    assert mallory.get(f"/live/cards/{run.card_id}").status_code == 404
    assert news(mallory, (f"/live{BOARD}", "1")) == ["news"]  # the board itself, whose policy is public
    places = [place_of(mallory, path) for path in ("/", BOARD)]
    happens(pages, CardExplained(run.card_id, "hush"), AgentSaid(run.run_id, "hush"))
    assert [news(mallory, place) for place in places] == [[], []]


def test_a_page_that_was_away_for_long_is_told_at_once(pages: Pages) -> None:
    run, bob = pages.run(), pages.browser("bob")
    before = place_of(bob, BOARD)
    said: list[Event] = [CardExplained(CardId("nobody"), "of no card")] * (MAX_EVENTS + 1)
    happens(pages, AgentSaid(run, "early"), *said)
    (late,) = messages(bob.get(f"{before[0]}?after={before[1]}"))
    assert (late.event, int(late.last)) == ("news", int(before[1]) + MAX_EVENTS + 2)


def test_an_open_page_is_told_soon_and_not_of_each_event(pages: Pages) -> None:
    run, bob = pages.run(), pages.browser("bob")
    engine = pages.cardinal.services.engine
    cookie = bob.here.get_cookie("__Host-cardinal", domain="cardinal.example.com")
    assert cookie is not None
    headers = {"Host": "cardinal.example.com", "Cookie": f"__Host-cardinal={cookie.value}"}
    mine = Reader(("", 0), "/live/inbox", place_of(bob, "/")[1], headers)
    with serving(pages.app, engine, StreamLimits()) as mine.place, closing(mine):
        assert mine.open() == 200
        happens(pages, AgentSaid(run, "first"))
        got = mine.messages()
        assert next(got).event == "news"
        happens(pages, *[AgentSaid(run, str(number)) for number in range(20)])
        assert next(got).event == "news"
        happens(pages, AgentSaid(run, "last"))
        with event_store.reading(engine) as db:
            assert int(next(got).last) == event_store.last_seq(db)
