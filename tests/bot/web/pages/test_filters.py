"""Filters of boards and inbox: the address is all their state, and finds nothing that may not be read."""

import re
from html import unescape
from urllib.parse import quote

from ledger.events.board import BoardSeen, CardSeen, Column
from ledger.ids import CardId
from ledger.log import event_store
from ledger.states import CardState
from ledger.views import boards
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.world import Browser, Pages

BOARD = "/boards/acme/1"
HOSTILE = '"><script>x</script>'


def add(
    pages: Pages,
    count: int,
    title: str,
    state: CardState,
    label: str,
    by: str,
    repository: str,
    column: str | None = "In Progress",
) -> None:
    """Put cards on the board."""
    with event_store.writing(pages.cardinal.services.engine) as db:
        for number in range(count):
            name, place = f"{title} {number}", (repository, 10_000 + event_store.last_seq(db))
            card = CardSeen(
                CardId(name), pages.cardinal.board_id, name, *place, name, "", by, column, state,
                (label,), by=by,
            )  # fmt: skip
            event_store.append(db, card, at=pages.cardinal.clock())


def titles(reader: Browser, path: str) -> list[str]:
    """Return the cards that the page lists."""
    page = reader.get(path)
    assert page.status_code == 200
    return re.findall(r'<a (?:class="title" )?href="/cards/[^"]+"><bdi>([^<]+)</bdi>', page.text)


def test_a_filter_leaves_the_cards_that_have_all_of_it(pages: Pages) -> None:
    add(pages, 2, "Basket", CardState.NEEDS_INPUT, "bug", "bob", "acme/shop")
    add(pages, 1, "Till", CardState.QUEUED, "area/till", "carol", "acme/shop")
    alice = pages.browser("alice")
    for path in ("/", BOARD):
        assert titles(alice, f"{path}?label=BUG&person=bob&state=needs_input&search=basket+1") == ["Basket 1"]
        assert titles(alice, f"{path}?person=carol") == ["Till 0"]
        shown = alice.get(f"{path}?search=basket&state=queued").text
        assert "No cards that you may see match." in shown
        assert "/cards/" not in shown
        shown = alice.get(f"{path}?state=needs_input&label=bug").text
        assert "2 cards match." in shown
        assert '<option value="needs_input" selected>' in shown
        assert 'name="label" value="bug"' in shown
        assert '<option value="area/till">' in shown


def test_what_cannot_be_asked_for_is_said_and_nothing_is_shown(pages: Pages) -> None:
    add(pages, 1, "Basket", CardState.NEEDS_INPUT, "bug", "bob", "acme/shop")
    alice = pages.browser("alice")
    for query, sentence in {
        "label=bgu": "No card here has the label “bgu”: did you mean bug?",
        "state=broken": "No card here can have the state “broken”: choose ",
        "label=bug&label=bug": "The address has label more than once: keep only one.",
        "search=" + "x" * 201: "A search may have up to 200 characters: shorten it.",
        "page=0": "This list has no such page",
        "page=10000": "This list has no such page",
        "KEY=x": " “x”: correct it, or leave it out.",
        "lable=bug": "Unknown parameter “lable”: did you mean label?",
        f"person={quote(HOSTILE)}": f"No card here has the person “{HOSTILE}”",
    }.items():
        for path, key in (("/", "lane"), (BOARD, "column")):
            page = alice.get(f"{path}?{query.replace('KEY', key)}")
            assert (page.status_code, sentence in unescape(page.text)) == (200, True), (path, query)
            assert "/cards/" not in page.text
            assert HOSTILE not in page.text


def test_a_secret_repository_is_not_found_counted_or_offered(pages: Pages) -> None:
    add(pages, 30, "Secret", CardState.NEEDS_INPUT, "hush", "carol", "acme/shop")
    add(pages, 1, "Open", CardState.NEEDS_INPUT, "bug", "bob", "acme/board")
    hide(pages.cardinal)
    alice, mallory = pages.browser("alice"), pages.browser("mallory")
    unknown = {"label": "hush", "person": "carol", "repository": "acme/shop"}
    for path in ("/", BOARD):
        whole = mallory.get(path).text
        assert not [word for word in ("hush", "carol", "acme/shop", "Secret", "more:") if word in whole]
        assert titles(mallory, path) == ["Open 0"]
        assert "No cards that you may see match." in mallory.get(f"{path}?search=secret").text
        for field, text in unknown.items():
            said = f"No card here has the {field} “{text}”: "
            assert said in mallory.get(f"{path}?{field}={text}").text
            assert "Secret 1" in titles(alice, f"{path}?{field}={text}")


def test_a_long_list_is_cut_and_says_how_to_see_the_rest(pages: Pages) -> None:
    add(pages, 230, "Basket", CardState.QUEUED, "bug", "alice", "acme/shop")
    add(pages, 1, "Broken", CardState.FAILED, "bug", "alice", "acme/shop")
    alice = pages.browser("alice")
    for path, rest, few in ((BOARD, 231, "Broken 0"), ("/", 230, "Basket 0")):
        page = alice.get(f"{path}?label=bug").text
        listed = titles(alice, f"{path}?label=bug")
        assert few in (listed[0], listed[1])  # the inbox has the broken one in a lane before
        left, address = re.findall(r'And (\d+) more: <a href="([^"]+)">all', page)[0]
        assert len(listed) - (path == "/") == rest - int(left)  # the inbox has the broken one in another lane
        seen = list[str]()
        while address:
            seen += titles(alice, unescape(address))
            following = re.findall(r'<a href="([^"]+)">next', alice.get(unescape(address)).text)
            address = following[0] if following else ""
        assert len(seen) == len(set(seen)) == rest
    beyond = alice.get(f"{BOARD}?column=In+Progress&page=9").text
    assert "231 in total: " in beyond
    assert ">previous<" in beyond


def test_a_board_of_many_columns_lists_fewer_cards_of_each(pages: Pages) -> None:
    with event_store.writing(pages.cardinal.services.engine) as db:
        row = boards.get(db, pages.cardinal.board_id)
        assert row is not None
        names = [f"Column {number}" for number in range(50)]
        columns = tuple(Column(name, name, "") for name in names)
        shape = (row.owner, row.number, row.title, row.status_field_id, columns, ())
        event_store.append(db, BoardSeen(row.board_id, *shape), at=pages.cardinal.clock())
    for name in (*names, None):
        add(pages, 4, f"In {name}", CardState.DRAFT, "many", "bob", "acme/shop", column=name)
    alice = pages.browser("alice")
    assert len(titles(alice, f"{BOARD}?label=many")) == 51 * 3
    assert len(titles(alice, f"{BOARD}?label=many&column=Column+7")) == 4
    nowhere = alice.get(f"{BOARD}?label=many&column=").text
    assert "Cards 1 to 4 of 4: " in nowhere
    assert "No column</bdi>" in nowhere


def test_who_follows_a_link_to_a_filter_has_it_after_signing_in(pages: Pages) -> None:
    add(pages, 1, "Basket", CardState.NEEDS_INPUT, "area/till", "bob", "acme/shop")
    shared = "/?search=basket&label=area%2Ftill"
    bob = pages.browser("bob", signed_in=False)
    way_in = unescape(re.findall(r'href="(/sign-in[^"]+)"', bob.get(shared).text)[0])
    arrived = bob.get(bob.agrees(bob.get(way_in).headers["Location"]))
    assert arrived.headers["Location"] == shared
    assert titles(bob, shared) == ["Basket 0"]


def test_a_filter_that_does_not_exist_is_refused_in_a_sentence(pages: Pages) -> None:
    add(pages, 1, "Till", CardState.QUEUED, "bug", "bob", "acme/shop")
    alice = pages.browser("alice")
    for path in ("/", BOARD):
        shown = alice.get(f"{path}?stat=queued").text
        assert "Unknown parameter “stat”: did you mean state?" in shown
        assert "/cards/" not in shown
        hostile = alice.get(f"{path}?{quote(HOSTILE)}=1").text
        assert "Unknown parameter “" in hostile
        assert "<script>x" not in hostile


def test_every_page_refuses_a_parameter_that_it_does_not_know(pages: Pages) -> None:
    run_id, alice = pages.run(), pages.browser("alice")
    (card,) = set(re.findall(r'"(/cards/[^"]+)"', alice.get(f"/runs/{run_id}").text))
    of_run = [f"/runs/{run_id}{part}" for part in ("", "/forms", "/changes", "/briefing", "/artifacts")]
    sentences = {
        "/money?dayz=7": "Unknown parameter “dayz”: did you mean days?",
        "/money?days=8": "There is no days “8”: choose 7, 30 or 90.",
        "/money.csv?dayz=7": "did you mean days?",
        f"{card}?zom=debug": "Unknown parameter “zom”: did you mean zoom?",
        f"{card}?zoom=debgu": "There is no zoom “debgu”: choose conversation, activity or debug.",
        f"{card}?zoom=debug&zoom=debug": "The address has zoom more than once: keep only one.",
        f"{card}?before=9x": "“before” must be the number of an event: correct it, or leave it out.",
        f"/money?{quote(HOSTILE)}=1": f"Unknown parameter “{HOSTILE}”",
    } | {
        f"{path}?x=1": "Unknown parameter “x”: leave it out."
        for path in ("/health", "/hosts", "/folders", *of_run)
    }
    sentences[f"{BOARD.replace('boards', 'policy')}?x=1"] = "Unknown parameter “x”"
    for path, said in sentences.items():
        answer = alice.get(path)
        assert (answer.status_code, said in unescape(answer.text)) == (400, True), path
        own = re.findall(r'<script src="/assets/[0-9a-f]{12}/[a-z]+\.js" defer></script>', answer.text)
        assert answer.text.count("<script") == len(own)
        assert alice.get(path.partition("?")[0] + "?acted=before").status_code == 200, path
        assert pages.browser("bob", signed_in=False).get(path).status_code == 401
