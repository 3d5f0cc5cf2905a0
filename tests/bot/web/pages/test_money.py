"""Money in a browser: of what the visitor may read, with names that are nothing but names."""

import re

from ledger.events.board import CardArchived, CardSeen
from ledger.events.run import UsageMetered
from ledger.events.turn import OWN_LOGIN, SUBSCRIPTION, TurnStarted
from ledger.ids import CardId
from ledger.log import event_store
from ledger.states import CardState
from ledger.views import cards
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.test_runs import happens
from tests.bot.web.pages.world import Pages


def test_dollars_are_shown_to_whoever_may_read_where_they_were_spent(pages: Pages) -> None:
    run_id = pages.run()
    with event_store.writing(pages.cardinal.services.engine) as db:
        event_store.append(db, UsageMetered(run_id, 1.37, 10, 10, 1, 60.0), at=pages.cardinal.clock())
    hide(pages.cardinal)
    bob, mallory = pages.browser("bob"), pages.browser("mallory")
    page, rows = bob.get("/money"), bob.get("/money.csv?days=7")
    assert (page.status_code, rows.status_code) == (200, 200)
    assert "$1.37 of $50.00 today" in page.text
    assert "\nusd,,1.37\r\nruns,,1\r\n" in rows.text
    assert page.text.count('<svg class="flat"') == 2  # who waited, and the limit
    assert re.search(
        r'<title id="spent-title">Dollars by day</title>\n<desc id="spent-desc">scripted: \$1.37', page.text
    )
    assert "highest day: $1.37; daily limit: $50.00" in page.text
    assert "\nusd by model,scripted test,1.3700" in rows.text
    assert "\nusd by repository,acme/shop,1.3700" in rows.text
    assert "\ntoday's limit_usd,Shop board,50" in rows.text
    with event_store.reading(pages.cardinal.services.engine) as db:
        card = cards.get(db, pages.cardinal.run(run_id).card_id)
    assert card is not None
    number = card.number
    assert f"\nworker_s of a card,acme/shop#{number}," in rows.text
    assert re.search(r"\nworker_s of a day,20[-0-9]{8},[0-9]", rows.text)
    assert f'<a href="/cards/acme/shop/{number}">acme/shop#{number}</a>' in page.text
    assert bob.get(f"/cards/acme/shop/{number}").status_code == 200
    for path in ("/money", "/money.csv"):
        hidden = mallory.get(path)
        assert hidden.status_code == 200
        assert "1.37" not in hidden.text
        assert "$50.00 today" not in hidden.text
        assert re.findall(r'<svg class="(?!icon")[^>]*', hidden.text) == []
        assert "today's" not in hidden.text
        assert "of a day" not in hidden.text
        assert "acme/shop" not in hidden.text
        assert pages.browser("bob", signed_in=False).get(path).status_code == 401


def test_no_forecast_tells_of_an_archived_card_in_a_repository_that_is_hidden(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    card = pages.cardinal.run(run_id).card_id
    happens(pages, UsageMetered(run_id, 1.25, 10, 10, 1, 60.0))
    assert "$1.25 of $50.00 today" in bob.get("/money").text
    with event_store.reading(pages.cardinal.services.engine) as db:
        row = cards.get(db, card)
    assert row is not None
    secret, rest = CardId("S"), (1, "", "", "", "Tasks", CardState.DRAFT)
    happens(pages, CardSeen(secret, row.board_id, "", "acme/secret", *rest), CardArchived(secret, "archived"))
    assert " today" not in bob.get("/money").text


def test_dollars_that_a_subscription_paid_or_an_agent_reported_are_said_to_be_so(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    said = "$1.25 of this is an estimate from the price list"
    happens(
        pages, TurnStarted(run_id, "work", "work", "", "anthropic"), UsageMetered(run_id, 1.25, 1, 1, 1, 1.0)
    )
    assert "estimate" not in bob.get("/money").text + bob.get(f"/runs/{run_id}").text
    happens(pages, TurnStarted(run_id, "work", "work", "", SUBSCRIPTION))
    assert said in bob.get("/money").text
    assert "$1.25 of $2.00 (an estimate: a subscription pays)" in bob.get(f"/runs/{run_id}").text
    happens(pages, TurnStarted(run_id, "work", "work", "", OWN_LOGIN))
    assert "$1.25 of this is as the agents report" in bob.get("/money").text
    assert "$1.25 of $2.00 as the agent reports" in bob.get(f"/runs/{run_id}").text
    assert "$1.25 as the agent reports" in bob.get("/runs").text
    hide(pages.cardinal)
    assert "report" not in pages.browser("mallory").get("/money").text
