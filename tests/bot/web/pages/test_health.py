"""Health in a browser: what stands still, with its way out, for whoever may change the policy of a board."""

import json
import re
from datetime import timedelta
from html import unescape

from bot.state.standstill import way_out
from bot.web.pages.health import MAX_EACH, NOTHING
from bot.web.site.doctor_results import NEVER
from forge.store.models import Role
from ledger.db.tables import ExaminationSubject
from ledger.events.board import BoardSeen, CardArchived, CardSeen, WorkStalled
from ledger.events.publication import EntryGivenUp
from ledger.events.run import RunClaimed, RunStepped
from ledger.ids import BoardId, CardId, DeliveryId, EntryKey
from ledger.log import event_store
from ledger.queries.standstill import StandstillKind
from ledger.queue import examinations, inbox, outbox
from ledger.queue.examinations import KeptResult
from ledger.queue.inbox import Delivery
from ledger.states import CardState, RunState
from tests.bot.flows.board.test_many_boards import elsewhere
from tests.bot.web.pages.test_runs import happens
from tests.bot.web.pages.world import Pages


def quarantine(pages: Pages, name: str, error: str, *, action: str = "opened", repository: str = "") -> None:
    """Have a delivery fail too often."""
    engine, body = pages.cardinal.services.engine, {"repository": {"full_name": repository}}
    payload = json.dumps(body if repository else {}).encode()
    inbox.store_deliveries(
        engine, Delivery(DeliveryId(name), "issues", action, payload, pages.cardinal.clock())
    )
    claimed = inbox.claim(engine, DeliveryId(name), lease_s=60)
    assert claimed is not None
    inbox.record_failure(engine, claimed, error, retry_in_s=1, max_attempts=1)


def test_where_nothing_stands_still_that_is_said_beside_queues_budget_and_hosts(pages: Pages) -> None:
    bob = pages.browser("bob")
    shown = bob.get("/health")
    assert shown.status_code == 200
    for text in (NOTHING, "deliveries waiting", "points used this minute", "No hosts yet"):
        assert text in shown.text


def test_each_page_links_the_operators_pages_for_operators_alone_and_asks_github_nothing_for_it(
    pages: Pages,
) -> None:
    bob, mallory = pages.browser("bob"), pages.browser("mallory")
    assert {browser.get("/").status_code for browser in (bob, mallory)} == {200}
    pages.cardinal.clock.forward(timedelta(hours=1).total_seconds())  # no answer of GitHub holds that long
    looked_up = pages.asked()
    operators, others = bob.get("/tokens").text, mallory.get("/tokens").text
    for path in ("/", "/money", "/health", "/hosts"):
        assert f'<a href="{path}"' in operators, path
        assert (f'<a href="{path}"' in others) is (path not in ("/health", "/hosts")), path
    assert '<a href="/tokens" aria-current="page"' in operators
    assert pages.asked() == looked_up


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
        assert way_out(kind, pages.cardinal.services.config.home) in shown, kind
    assert f"{silent} is preparing, without progress for 60 min" in shown
    assert f"{queued} has been queued for 60 min" in shown


def test_what_there_is_no_room_for_is_counted(pages: Pages) -> None:
    card_id = pages.cardinal.run(pages.run()).card_id
    keys = [EntryKey(f"k{each}") for each in range(MAX_EACH + 2)]
    happens(pages, *(EntryGivenUp(card_id, key, "write_comment", "no") for key in keys))
    happens(pages, EntryGivenUp(card_id, EntryKey("link"), "link_card", "a circle", declined=True))
    shown = pages.browser("bob").get("/health").text
    assert "and 2 more: given up" in shown
    assert shown.count("write comment was given up") == MAX_EACH
    assert "a circle" not in shown


def test_a_run_of_an_archived_card_stands_still_too_and_leads_to_the_card(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    run = pages.cardinal.run(run_id)
    happens(pages, RunClaimed(run_id, 1, "b-1", "b"), CardArchived(run.card_id, "archived"))
    pages.cardinal.clock.forward(timedelta(hours=1).total_seconds())
    shown = bob.get("/health").text
    assert re.search(
        f'<a href="/cards/acme/shop/[0-9]+/{run.card_id}">[a-z/]+#[0-9]+, archived</a>: <bdi>{run_id} is',
        shown,
    )


def test_a_delivery_about_a_repository_on_no_board_is_listed_for_its_readers_alone(pages: Pages) -> None:
    quarantine(pages, "d1", "Secret has no title", repository="acme/secret")
    quarantine(pages, "d2", "Basket has no title", repository="acme/shop")
    shown = pages.browser("bob").get("/health").text
    assert "<bdi>acme/shop issues opened</bdi>" in shown
    assert "<li>and 1 more, some perhaps about repositories you may not read</li>" in shown
    for text in ("acme/secret", "Secret", "d1<"):
        assert text not in shown, text


def test_deliveries_that_failed_are_listed_with_the_command_that_releases_them(pages: Pages) -> None:
    ids = [f"d{each}" for each in range(MAX_EACH + 1)]
    for name in ids:
        quarantine(pages, name, "\x1b[31m<b>no</b> title", action="<opened>")
    shown = pages.browser("bob").get("/health").text
    assert "issues &lt;opened&gt;" in shown
    assert "[31m&lt;b&gt;no&lt;/b&gt; title" in shown
    assert "<code>cardinal replay d0</code>" in shown
    assert f"<code>cardinal replay {ids[-1]}</code>" not in shown
    assert "<li>and 1 more, some perhaps about" in shown


def examined(pages: Pages, subject: ExaminationSubject, *findings: KeptResult) -> None:
    with event_store.writing(pages.cardinal.services.engine) as db:
        examinations.record_examination(db, f"b-{subject}", subject, "cardinal doctor", findings)


def test_the_doctors_last_findings_are_there_with_who_looked_and_when(pages: Pages) -> None:
    bob = pages.browser("bob")
    assert NEVER in bob.get("/health").text
    up = KeptResult("up", "ok", "`cardinal up` runs", "")
    examined(pages, ExaminationSubject.HOST, KeptResult("disk", "ok", "9 GB are free", ""), up)
    wrong = KeptResult("webhook", "fail", "<b>it</b> leads `away`", "mend it")
    examined(pages, ExaminationSubject.INSTALLATION, wrong, KeptResult("app", "ok", "it is well", ""))
    shown = bob.get("/health").text
    for text in (
        "On host <bdi>b-host</bdi>",
        "ago, by cardinal doctor.",
        '<span class="state done">ok</span> disk: <bdi>9 GB are free.</bdi></li>',
        '<span class="state done">ok</span> up: <bdi>cardinal up runs.</bdi></li>',
        '<span class="state failed">fail</span> webhook: <bdi>&lt;b&gt;it&lt;/b&gt; leads away.</bdi><br>',
        "1 check passed.",
    ):
        assert text in shown, text
    assert "it is well" not in shown
    assert NEVER not in shown


def test_findings_that_could_tell_of_a_board_served_no_more_are_for_its_readers(pages: Pages) -> None:
    bob, gone = pages.browser("bob"), BoardId("PVT_gone")
    examined(
        pages, ExaminationSubject.INSTALLATION, KeptResult("outbox", "warn", "acme/secret waits", "wait")
    )
    assert "acme/secret waits." in bob.get("/health").text
    seen = CardSeen(CardId("S"), gone, "", "acme/secret", 1, "", "", "", "Tasks", CardState.DRAFT)
    happens(pages, BoardSeen(gone, "acme", 9, "Gone", "F", (), ()), seen)
    shown = bob.get("/health").text
    assert "deliveries waiting" in shown
    assert "acme/secret" not in shown


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
    for text in (f"{run_id} is", "acme", "deliveries waiting"):
        assert text not in theirs.text


def test_what_could_tell_of_a_hidden_repository_is_not_shown_and_that_is_said(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    pages.cardinal.clock.forward(timedelta(hours=1).total_seconds())
    quarantine(pages, "d1", "no title", repository="acme/shop")
    examined(
        pages, ExaminationSubject.INSTALLATION, KeptResult("outbox", "warn", "acme/secret waits", "wait")
    )
    seen = bob.get("/health").text
    assert "write run comment" in seen
    assert "cardinal replay d1" in seen
    board_id, rest = pages.cardinal.run(run_id).board_id, (1, "", "", "", "Tasks", CardState.DRAFT)
    secret = CardId("S")
    happens(pages, CardSeen(secret, board_id, "", "acme/secret", *rest), CardArchived(secret, "archived"))
    shown = bob.get("/health").text
    assert "Standstills on 1 board of yours are not shown" in shown
    for text in ("write run comment", "deliveries waiting", "cardinal replay", "acme/secret", NOTHING):
        assert text not in shown
