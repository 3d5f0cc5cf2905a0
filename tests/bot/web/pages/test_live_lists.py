"""Open lists of cards: a stream says that one is old, when a card changed that its reader may see."""

import re

from ledger.events.board import CardExplained, CardSeen
from ledger.events.run import AgentSaid
from ledger.ids import CardId
from ledger.states import CardState
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.test_runs import happens, messages
from tests.bot.web.pages.world import Pages

STREAM = re.compile(r'data-live="([^"]+)" data-after="(\d+)"')


def test_a_list_gets_old_by_a_card_in_sight_and_by_nothing_else(pages: Pages) -> None:
    run_id, bob, mallory = pages.run(), pages.browser("bob"), pages.browser("mallory")
    card_id = pages.cardinal.run(run_id).card_id
    for path in ("/", "/boards/acme/1"):
        page = bob.get(path)
        ((stream, after),) = STREAM.findall(page.text)
        (nonce,) = re.findall(r'<script src="/live/cards.js" nonce="([\w-]{22})" defer></script>', page.text)
        assert f"script-src 'nonce-{nonce}'" in page.headers["Content-Security-Policy"]
        hidden = CardSeen(
            CardId(f"S{after}"),
            pages.cardinal.board_id,
            "",
            "acme/secret",
            1,
            "",
            "",
            "",
            "Tasks",
            CardState.DRAFT,
        )
        happens(pages, hidden, AgentSaid(run_id, "a run says much"))
        assert messages(bob.get(f"{stream}?after={after}")) == []
        happens(pages, CardExplained(card_id, f"changed {after}"))
        assert [it.event for it in messages(bob.get(f"{stream}?after={after}"))] == ["changed", "over"]
        assert pages.browser("bob", signed_in=False).get(stream).status_code == 401
    hide(pages.cardinal)
    hide(pages.cardinal, "board")
    pages.cardinal.clock.forward(181)
    assert messages(mallory.get("/live/cards?after=1")) == []
    assert mallory.get("/live/boards/acme/1").status_code == 404
