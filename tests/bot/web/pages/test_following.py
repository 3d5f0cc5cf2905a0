"""Pages of cards say that there is news: of what their reader may see, and of nothing else."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from html import unescape

from bot.web.live.streams import StreamLimits
from ledger.event import Event
from ledger.events.board import CardArchived, CardExplained, StopOrdered
from ledger.events.person import NoticesChosen
from ledger.events.run import AgentSaid
from ledger.ids import CardId, RunId
from ledger.log import event_store
from ledger.queries.card_news import MAX_EVENTS
from ledger.views import cards
from tests.bot.flows.settings import POLICY
from tests.bot.web.live.reading import Message, Reader
from tests.bot.web.live.serving import serving
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.test_boards import BOARD, hidden_card
from tests.bot.web.pages.test_cards import asked
from tests.bot.web.pages.test_runs import after, happens, messages
from tests.bot.web.pages.world import Browser, Pages


def place_of(browser: Browser, path: str) -> tuple[str, str]:
    """Return the address of an open page's stream, and the last event that it shows."""
    page = browser.get(path)
    (live,) = re.findall(r'data-live="([^"]+)"', page.text)
    assert page.text.count('/page.js" defer></script>') == 1  # without it nobody reads the stream
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
        told = [(inbox, "list"), (board, "list"), (card, "news")]
        return [news(bob, place) == [event] for place, event in told]

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
    assert news(mallory, (f"/live{BOARD}", "1")) == ["list"]  # the board itself, whose policy is public
    places = [place_of(mallory, path) for path in ("/", BOARD)]
    happens(pages, CardExplained(run.card_id, "hush"), AgentSaid(run.run_id, "hush"))
    assert [news(mallory, place) for place in places] == [[], []]


def test_a_page_that_was_away_for_long_is_told_at_once(pages: Pages) -> None:
    run, bob = pages.run(), pages.browser("bob")
    before = place_of(bob, BOARD)
    said: list[Event] = [CardExplained(CardId("nobody"), "of no card")] * (MAX_EVENTS + 1)
    happens(pages, AgentSaid(run, "early"), *said)
    (late,) = messages(bob.get(f"{before[0]}?after={before[1]}"))
    assert (late.event, int(late.last)) == ("list", int(before[1]) + MAX_EVENTS + 2)


def test_an_open_list_is_what_its_reader_would_load_but_for_forms_and_times(pages: Pages) -> None:
    run, bob = pages.cardinal.run(pages.run()), pages.browser("bob")
    hidden_card(pages, "S")
    paths = ["/", "/?search=nowhere", "/?lane=Queued", BOARD, f"{BOARD}?state=queued", f"{BOARD}?page=x"]
    places = [place_of(bob, path) for path in paths]
    happens(pages, CardExplained(run.card_id, "<b> waits"))
    for path, (live, seen) in zip(paths, places, strict=True):
        separator = "&" if "?" in live else "?"
        (sent,) = messages(bob.get(unescape(f"{live}{separator}after={seen}")))
        loaded = bob.get(path).text.partition('<div id="list">')[2]
        assert _bare(sent.data) in _bare(loaded), path
        assert ("&lt;b&gt; waits" in sent.data) == ("nowhere" not in path and "page=x" not in path), path


def _bare(html: str) -> str:
    """Return a list without what its readers differ in, or what a script writes."""
    without = re.sub(r"<form.*?</form>|<details.*?</details>", "", html, flags=re.DOTALL)
    return re.sub(r"\s*\n", "\n", re.sub(r'(<span data-since="[^"]*">)[^<]*', r"\1", without)).strip()


def test_readers_of_a_list_share_it_and_get_it_only_where_it_changed(pages: Pages) -> None:
    run = pages.cardinal.run(pages.run())
    engine = pages.cardinal.services.engine
    hide(pages.cardinal)
    names = [run.by, next(login for login in ("alice", "bob") if login != run.by), "mallory"]
    with _inboxes(pages, *names) as readers:
        got = [reader.messages() for reader in readers]
        happens(pages, CardExplained(run.card_id, "first"))
        *got, hidden = got  # the last may not read the repository
        assert ["first" in _until(each, "first") for each in got] == [True, True]
        assert "/cards/" not in next(hidden).data
        happens(pages, AgentSaid(run.run_id, "no list has it"))
        with event_store.reading(engine) as db:
            before = event_store.last_seq(db)
        lines = iter(lambda: readers[0].answer.readline().decode(), "")
        assert any(f"id: {before}" in line for line in lines)  # it was looked at
        happens(pages, CardExplained(run.card_id, "second"))
        sent = [next(each).data for each in got]  # and nothing was sent between
        assert [("second" in text, "Yours" in text) for text in sent] == [(True, True), (True, False)]


def test_readers_share_no_list_of_what_one_of_them_may_not_answer(pages: Pages) -> None:
    run = pages.cardinal.run(RunId(asked(pages.cardinal)))
    with _inboxes(pages, "alice", "bob") as readers:
        pages.cardinal.set_policy(f"{POLICY}  commands: {{answer: ['@alice']}}\n")
        pages.cardinal.catch_up()
        happens(pages, CardExplained(run.card_id, "first"))
        sent = [_until(reader.messages(), "first") for reader in readers]
    assert [re.findall(r"Needs \w+", text) for text in sent] == [["Needs input"], ["Needs others"]]


@contextmanager
def _inboxes(pages: Pages, *names: str) -> Iterator[list[Reader]]:
    """Return the open streams of these people's inboxes."""
    readers = []
    for login in names:
        browser = pages.browser(login)
        cookie = browser.here.get_cookie("__Host-cardinal", domain="cardinal.example.com")
        assert cookie is not None
        headers = {"Host": "cardinal.example.com", "Cookie": f"__Host-cardinal={cookie.value}"}
        readers.append(Reader(("", 0), "/live/inbox", place_of(browser, "/")[1], headers))
    with serving(pages.app, pages.cardinal.services.engine, StreamLimits()) as place, ExitStack() as opened:
        for reader in readers:
            reader.place = place
            assert reader.open() == 200
            opened.enter_context(closing(reader))
        yield readers


def _until(got: Iterator[Message], word: str) -> str:
    """Return the first message with the word."""
    return next(it.data for it in got if word in it.data)
