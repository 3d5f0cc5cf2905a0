"""Acting from pages: what a form does, and what is told about it."""

import re

import pytest

from bot.sync.card import LEASE_PREFIX
from bot.web.authorization import KEPT_S
from ledger.events.board import CardMoved, StopLifted, StopOrdered
from ledger.events.conversation import CommandGiven
from ledger.events.run import RunStopAsked
from ledger.log import event_store
from ledger.queue import leases
from ledger.states import RunState
from tests.bot.flows.cardinal import Cardinal
from tests.bot.web.pages.forms import asked, at_work, form_to_cancel, forms, page_of, planned, send
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.world import Browser, Pages


@pytest.mark.after(scene=Cardinal.at_work)
def test_an_answer_on_a_page_is_that_of_a_comment_and_is_told_on_the_card(pages: Pages) -> None:
    item = asked(pages, "8080", "8081")
    bob, path = pages.browser("bob"), page_of(pages, item)
    run_id = pages.cardinal.run_of(item).run_id
    form = forms(bob, path)[f"answer:{run_id}-q1"]
    answer = send(bob, {**form, "text": "2"})
    assert (answer.status_code, answer.headers["Location"].partition("?")[0]) == (303, path)
    assert "`bob`" not in (page := bob.get(answer.headers["Location"]).text)
    assert "bob gave /cardinal answer on Cardinal&#39;s page: “2”." in page
    (given,) = pages.cardinal.events(CommandGiven)
    bob_id = pages.cardinal.person("bob").id
    assert (given.by, given.user_id, given.role, given.place) == ("bob", bob_id, "write", "page")
    assert given.source == f"page:answer:{run_id}-q1"
    assert pages.cardinal.run_of(item).state is RunState.QUEUED
    pages.cardinal.catch_up()
    assert pages.cardinal.comment(item, "`bob` gave `/cardinal answer` on Cardinal's page: “2”.")
    assert pages.cardinal.comment(item, "8081")
    pages.cardinal.assert_nothing_is_stuck()


@pytest.mark.after(scene=Cardinal.at_work)
def test_an_open_page_gets_the_forms_of_its_reader_apart_from_the_stream_that_all_share(pages: Pages) -> None:
    item = asked(pages)
    run_id = pages.cardinal.run_of(item).run_id
    bob, mallory, path = pages.browser("bob"), pages.browser("mallory"), f"/runs/{run_id}/forms"
    stream = bob.get(f"/live/runs/{run_id}").text
    assert f' {run_id}-q1"' in stream
    assert "<form" not in stream
    page = bob.get(path).text
    assert "<html" not in page
    assert page.count("<form") == bob.get(f"/runs/{run_id}").text.count('<form class="act"')
    assert "<form" not in mallory.get(path).text
    assert pages.browser("bob", signed_in=False).get(path).status_code == 401
    form = forms(bob, path)[f"answer:{run_id}-q1"]
    assert send(bob, {**form, "text": "8080"}).headers["Location"].startswith(f"/runs/{run_id}?acted=")
    assert f"answer:{run_id}-q1" not in forms(bob, path)
    hide(pages.cardinal)
    pages.cardinal.clock.forward(KEPT_S + 1)
    refused, nothing = mallory.get(path), mallory.get("/runs/r999/forms")
    assert (refused.status_code, refused.text) == (404, nothing.text)


def test_a_plan_is_approved_on_the_page_of_its_run(pages: Pages) -> None:
    item = planned(pages)
    run_id = pages.cardinal.run_of(item).run_id
    bob = pages.browser("bob")
    form = forms(bob, f"/runs/{run_id}")[f"approve:{run_id}:1"]
    where = send(bob, form).headers["Location"]
    assert where.startswith(f"/runs/{run_id}?acted=")
    assert "bob gave /cardinal approve on Cardinal&#39;s page." in bob.get(where).text
    assert pages.cardinal.run_of(item).plan_approved
    pages.cardinal.catch_up()
    assert pages.cardinal.comment(item, "`bob` gave `/cardinal approve` on Cardinal's page.")


@pytest.mark.after(scene=Cardinal.at_work)
def test_the_page_of_a_card_has_every_other_command_in_one_form(pages: Pages) -> None:
    item = at_work(pages)
    bob, path = pages.browser("bob"), page_of(pages, item)
    page = bob.get(path).text
    for shown in (
        "<summary>More commands</summary>",
        '<option value="status">status</option>',
        "<li>status: Say what state the card is in",
        'value="link"',
    ):
        assert shown in page
    assert 'value="stop-all"' not in page  # bob may not
    assert (
        "More commands" not in bob.get("/").text + bob.get(f"/runs/{pages.cardinal.run_of(item).run_id}").text
    )
    more = forms(bob, path)[""]
    where = send(bob, {**more, "name": "link", "text": "blocked_by #99"}).headers["Location"]
    assert "bob gave /cardinal link on Cardinal&#39;s page: “blocked_by #99”." in bob.get(where).text
    assert send(bob, {**more, "name": "cancel"}).headers["Location"].endswith("acted=before")
    refused = [
        send(bob, {**forms(bob, path)[""], "name": name, "text": "x"}).status_code
        for name in ("stop-all", "status", "no-such", f"cancel:{pages.cardinal.run_of(item).run_id}")
    ]
    assert refused == [400, 400, 400, 403]
    assert [it.command for it in pages.cardinal.events(CommandGiven)] == ["link"]


def test_an_approval_waits_for_somebody_elses_command_that_has_the_card_read(pages: Pages) -> None:
    item = planned(pages)
    run_id = pages.cardinal.run_of(item).run_id
    bob = pages.browser("bob")
    form = forms(bob, f"/runs/{run_id}")[f"approve:{run_id}:1"]
    with event_store.writing(pages.cardinal.services.engine) as db:
        assert leases.take(db, f"{LEASE_PREFIX}{item.node_id}", "page-alice", ttl_s=1)
    assert send(bob, form).status_code == 303
    assert pages.cardinal.run_of(item).plan_approved


@pytest.mark.after(scene=Cardinal.at_work)
def test_who_must_answer_does_so_in_the_inbox(pages: Pages) -> None:
    item = asked(pages, "8080", "8081")
    bob = pages.browser("bob")
    run_id = pages.cardinal.run_of(item).run_id
    inbox = forms(bob, "/?state=needs_input")
    assert sorted(inbox) == [f"answer:{run_id}-q1"]
    assert (
        send(bob, {**inbox[f"answer:{run_id}-q1"], "text": "in words"})
        .headers["Location"]
        .startswith("/?state=needs_input&acted=")
    )
    assert pages.cardinal.run_of(item).state is RunState.QUEUED
    assert forms(bob, "/") == {}


@pytest.mark.after(scene=Cardinal.at_work)
def test_an_admin_stops_the_board_on_its_page_and_lets_it_go_on(pages: Pages) -> None:
    item = at_work(pages)
    alice, bob = pages.browser("alice"), pages.browser("bob")
    (board,) = set(re.findall(r'"(/boards/[^"]+)"', alice.get("/").text))
    assert forms(bob, board) == {}
    assert send(alice, forms(alice, board)["stop-all"]).headers["Location"].startswith(f"{board}?acted=")
    assert "board" in [it.scope for it in pages.cardinal.events(StopOrdered)]
    assert [it.how for it in pages.cardinal.events(RunStopAsked)] == ["pause"]
    pages.cardinal.catch_up()
    assert pages.cardinal.comment(item, "`alice` gave `/cardinal stop-all` on Cardinal's page.")
    assert send(alice, go_on(alice, board)).status_code == 303
    assert [it.scope for it in pages.cardinal.events(StopLifted)] == ["board"]
    send(alice, forms(alice, board)["stop-all"])
    old = go_on(alice, board)  # and somebody else lifts that stop, and orders another
    send(alice, go_on(alice, board))
    send(alice, forms(alice, board)["stop-all"])
    send(alice, old)
    assert len(pages.cardinal.events(StopLifted)) == 2


def go_on(browser: Browser, board: str) -> dict[str, str]:
    """Return the form that lets the board go on."""
    (form,) = (form for name, form in forms(browser, board).items() if name.startswith("resume:stop-"))
    return {**form, "text": "board"}


@pytest.mark.after(scene=Cardinal.at_work)
def test_what_became_of_a_form_is_shown_to_whoever_sent_it(pages: Pages) -> None:
    bob = pages.browser("bob")
    item, form = form_to_cancel(pages, bob)
    where = send(bob, form).headers["Location"]
    told = "bob gave /cardinal cancel on Cardinal&#39;s page."
    assert told in bob.get(where).text
    assert told not in pages.browser("alice").get(where).text
    for other in ("0", "1", "-1", "9" * 30, "x", "\u0661"):
        assert told not in bob.get(f"{page_of(pages, item)}?acted={other}").text
    pages.cardinal.say(item, "/cardinal status", who="bob")  # read on GitHub, by who may still read it
    pages.cardinal.catch_up()
    assert len(pages.cardinal.events(CommandGiven)) == 2
    shown = [bob.get(f"/?acted={seq}").text for seq in range(1, pages.cardinal.count() + 1)]
    assert [
        "/cardinal cancel is recorded. The card shows the outcome" in page
        for page in shown
        if '<p role="status"' in page
    ] == [True]


def test_a_card_that_is_moved_on_its_page_is_served_for_whoever_moved_it(pages: Pages) -> None:
    item = pages.cardinal.new(column="Tasks")
    pages.cardinal.catch_up()
    bob = pages.browser("bob")
    assert (
        send(bob, {**forms(bob, page_of(pages, item))["move:Tasks"], "text": "In Progress"}).status_code
        == 303
    )
    pages.cardinal.catch_up()
    assert pages.cardinal.column(item) == "In Progress"
    assert pages.cardinal.run_of(item).by == "bob"
    assert [(it.by_cardinal, it.by) for it in pages.cardinal.events(CardMoved)] == [(True, "bob")]
    pages.cardinal.assert_nothing_is_stuck()


def test_the_echo_of_a_move_counts_for_whoever_asked_for_it(pages: Pages) -> None:
    item = pages.cardinal.new(column="Tasks")
    pages.cardinal.catch_up()
    pages.cardinal.say(item, "/cardinal move in progress", who="bob")
    pages.cardinal.catch_up(publish=False)
    pages.cardinal.drag(
        item, "In Progress", who="cardinal[bot]"
    )  # what GitHub tells before Cardinal's commit
    pages.cardinal.catch_up(publish=False)
    assert [(it.by_cardinal, it.by) for it in pages.cardinal.events(CardMoved)] == [(True, "bob")]
