"""Health in a browser: what stands still, with its way out, for whoever may change the policy of a board."""

from datetime import timedelta
from html import unescape

from bot.state.standstill import WAYS_OUT
from bot.web.pages.health import NOTHING
from forge.store.models import Role
from ledger.events.board import CardArchived, CardSeen, WorkStalled
from ledger.events.run import RunClaimed, RunStepped
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queries.standstill import StandstillKind
from ledger.queue import outbox
from ledger.states import CardState, RunState
from tests.bot.flows.board.test_many_boards import elsewhere
from tests.bot.web.pages.test_runs import happens
from tests.bot.web.pages.world import Pages


def test_where_nothing_stands_still_that_is_said_beside_queues_budget_and_hosts(pages: Pages) -> None:
    bob = pages.browser("bob")
    assert '<a href="/health">' in bob.get("/").text
    shown = bob.get("/health")
    assert shown.status_code == 200
    for text in (NOTHING, "deliveries that wait", "points of this minute", "No host was seen yet"):
        assert text in shown.text


def test_each_thing_that_stands_still_has_its_way_out(pages: Pages) -> None:
    queued, silent = pages.run(), pages.run()
    at_work = RunStepped(silent, RunState.CLAIMED, RunState.PREPARING)
    happens(pages, RunClaimed(silent, 1, "b-1", "b"), at_work)
    with event_store.reading(pages.cardinal.services.engine) as db:
        board_id = pages.cardinal.run(queued).board_id
        assert outbox.stuck(db, pages.cardinal.clock(), 0)
    happens(pages, WorkStalled(board_id, 1))
    pages.cardinal.clock.forward(timedelta(hours=1).total_seconds())
    shown = unescape(pages.browser("bob").get("/health").text)
    assert NOTHING not in shown
    for kind in (StandstillKind.NO_STEP, StandstillKind.NO_WORKER, StandstillKind.UNDONE):
        assert WAYS_OUT[kind] in shown, kind
    assert f"{silent} is preparing, and has made no step for 60 min" in shown
    assert f"{queued} is queued for 60 min" in shown


def test_health_is_nobodys_business_who_may_not_change_a_policy(pages: Pages) -> None:
    mallory = pages.browser("mallory")
    refused, nothing = mallory.get("/health"), mallory.get("/runs/r999")
    assert (refused.status_code, refused.text) == (404, nothing.text)
    assert pages.browser("bob", signed_in=False).get("/health").status_code == 401


def test_an_operator_of_one_board_learns_nothing_of_another_owners(pages: Pages) -> None:
    cardinal = pages.cardinal
    elsewhere(cardinal)
    store = cardinal.forge.store
    store.repos.set_role(store.repos.get("globex", "board"), cardinal.person("mallory"), Role.WRITE)
    run_id = pages.run()
    happens(pages, RunClaimed(run_id, 1, "b-1", "b"))
    cardinal.clock.forward(timedelta(hours=1).total_seconds())
    theirs, ours = pages.browser("mallory").get("/health"), pages.browser("bob").get("/health")
    assert f"{run_id} is" in ours.text
    for text in (f"{run_id} is", "acme", "deliveries that wait"):
        assert text not in theirs.text


def test_what_could_tell_of_a_hidden_repository_is_not_shown_and_that_is_said(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    pages.cardinal.clock.forward(timedelta(hours=1).total_seconds())
    assert "write run comment" in bob.get("/health").text
    board_id, rest = pages.cardinal.run(run_id).board_id, (1, "", "", "", "Tasks", CardState.DRAFT)
    secret = CardId("S")
    happens(pages, CardSeen(secret, board_id, "", "acme/secret", *rest), CardArchived(secret, "archived"))
    shown = bob.get("/health").text
    assert "What stands still on 1 board of yours is not shown" in shown
    for text in ("write run comment", "deliveries that wait", NOTHING):
        assert text not in shown
