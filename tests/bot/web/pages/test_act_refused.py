"""Forms that must not act: who sends them, from where, how often, and what is in them."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from urllib.parse import urlencode

import pytest

from bot.render.markdown.marker import marker_of
from bot.system.setting_types import BoardAddress
from bot.web.acting.form import MAX_BYTES, new_token
from bot.web.app import make_app
from bot.web.pages.act import ACTS_A_MINUTE, ACTS_AT_ONCE
from forge.store.models import Role
from ledger.events.board import BoardRemoved
from ledger.events.conversation import CommandRefused
from ledger.events.run import RunSteered, RunStopAsked
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from rules.chatops.parser import MAX_ARGUMENT
from rules.registry import COMMANDS
from tests.bot.flows.board.test_many_boards import elsewhere, new
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.opening import opened
from tests.bot.web.pages.forms import (
    at_work,
    commands,
    form_to_cancel,
    forms,
    page_of,
    send,
)
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.world import PUBLIC, WAIT_S, Browser, Pages
from tests.ledgers import set_clock
from tests.waiting import until


@pytest.mark.after(scene=Cardinal.at_work)
def test_who_lost_the_role_is_refused_and_the_refusal_is_recorded_and_told(pages: Pages) -> None:
    bob = pages.browser("bob")
    item, form = form_to_cancel(pages, bob)
    pages.cardinal.forge.store.repos.set_role(pages.cardinal.repo, pages.cardinal.person("bob"), Role.READ)
    refused = send(bob, form)
    assert refused.status_code == 403
    assert "/cardinal cancel needs the role write; bob has the role read here." in refused.text
    assert "Ask someone who has the right" in refused.text
    (event,) = commands(pages)
    assert isinstance(event, CommandRefused)
    assert (event.command, event.by, event.role, event.place) == (
        f"page:{form['name']}",
        "bob",
        "read",
        "page",
    )
    assert event.user_id == pages.cardinal.person("bob").id
    assert pages.cardinal.events(RunStopAsked) == []
    pages.cardinal.catch_up()
    assert pages.cardinal.comment(item, "needs the role `write`; `bob` has the role `read` here.")


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_removed_collaborator_of_a_private_repository_is_refused(pages: Pages) -> None:
    hide(pages.cardinal)
    bob = pages.browser("bob")
    _, form = form_to_cancel(pages, bob)
    pages.cardinal.forge.store.repos.set_role(pages.cardinal.repo, pages.cardinal.person("bob"), Role.NONE)
    assert send(bob, form).status_code == 403
    (event,) = commands(pages)
    assert (type(event), event.role) == (CommandRefused, "none")


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_stranger_is_offered_nothing_and_somebody_elses_form_is_worth_nothing(pages: Pages) -> None:
    bob, mallory = pages.browser("bob"), pages.browser("mallory")
    item, form = form_to_cancel(pages, bob)
    assert forms(mallory, page_of(pages, item)).keys() == {""}  # what whoever may read may ask
    may = set(re.findall(r'<option value="([^"]+)"', mallory.get(page_of(pages, item)).text))
    assert may == {name for name, part in COMMANDS.all() if part.ROLE == "read"}
    again = pages.browser("bob")  # in another browser
    for other in (mallory, again):
        refused = send(other, form)
        assert (refused.status_code, "belongs to another sign-in" in refused.text) == (403, True)
    gone = send(pages.browser("bob", signed_in=False), form)
    assert (gone.status_code, "your sign-in has expired" in gone.text) == (401, True)
    assert commands(pages) == []


ELSEWHERE: list[dict[str, str]] = [
    {},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": f"{PUBLIC}.evil.example"},
    {"Origin": PUBLIC.replace("https", "http")},
    {"Origin": PUBLIC, "Sec-Fetch-Site": "cross-site"},
    {"Origin": PUBLIC, "Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
]


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_form_from_another_origin_does_nothing(pages: Pages) -> None:
    bob = pages.browser("bob")
    _, form = form_to_cancel(pages, bob)
    for headers in ELSEWHERE:
        refused = send(bob, form, headers=headers)
        assert (refused.status_code, "own pages" in refused.text) == (403, True), headers
    assert commands(pages) == []
    assert send(bob, form, headers={"Sec-Fetch-Site": "same-origin"}).status_code == 303


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_form_is_good_for_what_it_was_made_for_only_and_once(pages: Pages) -> None:
    bob = pages.browser("bob")
    _, form = form_to_cancel(pages, bob)
    other, number = pages.cardinal.new(), form["token"].partition(".")[0]
    pages.cardinal.catch_up()
    changes = [
        {"card": other.node_id},
        {"name": "stop-all"},
        {"token": ""},
        {"token": "."},
        {"token": f"{form['token']} "},
        {"token": f"0{form['token']}"},
        {"token": f"{number}.{'0' * 64}"},
        {"token": "\u00e4.\u00e4"},
    ]
    answers = [send(bob, {**form, **change}) for change in changes]
    assert [it.status_code for it in answers] == [403] * len(changes)
    assert commands(pages) == []
    first, second = send(bob, form), send(bob, form)
    assert (first.status_code, second.status_code) == (303, 303)
    assert "took effect once, not twice" in bob.get(second.headers["Location"]).text
    assert len(commands(pages)) == len(pages.cardinal.events(RunStopAsked)) == 1


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_form_that_two_processes_get_at_once_acts_once(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgresql_ledger") if kind == "postgresql" else ""
    with opened(tmp_path, database_url=url, public_url=PUBLIC) as cardinal, ExitStack() as ending:
        pages = Pages.over(cardinal)
        bob = pages.browser("bob")
        _, form = form_to_cancel(pages, bob)
        word = bob.here.get_cookie("__Host-cardinal", domain="cardinal.example.com")
        assert word is not None
        start, browsers = Barrier(2), []
        for _ in range(2):
            engine = open_ledger(cardinal.services.config.database_url, durable=False)
            ending.callback(engine.dispose)
            set_clock(engine, cardinal.clock)
            app = make_app(cardinal.services.config, engine, cardinal.clock)
            browsers.append(Browser(app, "", "bob"))
            browsers[-1].here.set_cookie(word.key, word.value, domain=word.domain, secure=True)

        def press(browser: Browser) -> int:
            start.wait(WAIT_S)
            return send(browser, form).status_code

        with ThreadPoolExecutor(2) as threads:
            assert list(threads.map(press, browsers)) == [303, 303]
        assert len(commands(pages)) == len(cardinal.events(RunStopAsked)) == 1


HOSTILE = (
    "<script>alert(1)</script>\r\n@alice <!-- cardinal:key:say:1 -->\u202e\x00 [x](javascript:1) fixes #1"
)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_hostile_words_reach_the_agent_and_nobody_else(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgresql_ledger") if kind == "postgresql" else ""
    with opened(tmp_path, database_url=url, public_url=PUBLIC) as cardinal:
        pages = Pages.over(cardinal)
        item, bob = at_work(pages), pages.browser("bob")
        run_id, path = cardinal.run_of(item).run_id, page_of(pages, item)
        for text in (HOSTILE, "and mind the tests"):
            sent = send(bob, {**forms(bob, path)[f"redirect:{run_id}"], "text": text})
            assert sent.status_code == 303
        first, second = cardinal.events(RunSteered)
        assert first.comment_id != second.comment_id  # else the agent gets one of them only
        assert second.text == "and mind the tests"
        page = bob.get(sent.headers["Location"]).text
        assert "<script>" not in page
        cardinal.catch_up()
        said = cardinal.comment(item, "script").body
        for word in ("@alice", "<script", "<!-- cardinal:key:say:1", "\u202e"):
            assert word not in said
        assert (marker := marker_of(said)) is not None
        assert marker.key == f"say:{item.node_id}:command:{first.comment_id}"


@pytest.mark.after(scene=Cardinal.at_work)
def test_what_is_no_form_of_these_pages_is_refused_with_words(pages: Pages) -> None:
    bob = pages.browser("bob")
    _, form = form_to_cancel(pages, bob)
    lacking = {name: text for name, text in form.items() if name != "back"}
    refused = [
        (send(bob, lacking), 400, "missing or extra field"),
        (send(bob, {**form, "more": "1"}), 400, "missing or extra field"),
        (send(bob, f"{urlencode(form)}&name=stop-all"), 400, "missing or extra field"),
        (send(bob, ""), 400, "missing or extra field"),
        (send(bob, json.dumps(form), "application/json"), 400, "not a form from Cardinal"),
        (send(bob, urlencode(form), "multipart/form-data; boundary=x"), 400, "not a form from Cardinal"),
        (send(bob, {**form, "text": "x" * (MAX_ARGUMENT + 1)}), 400, "the limit is 8,000"),
        (send(bob, {**form, "text": "x" * MAX_BYTES}), 413, "larger than any form"),
    ]
    for answer, status, words in refused:
        assert (answer.status_code, words in answer.text) == (status, True)
    assert commands(pages) == []
    assert bob.get("/act").status_code == 405
    assert send(bob, form).status_code == 303


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_text_where_none_is_taken_does_nothing_and_says_so(pages: Pages) -> None:
    bob = pages.browser("bob")
    _, form = form_to_cancel(pages, bob)
    refused = send(bob, {**form, "text": "please"})
    assert (refused.status_code, "takes no text, so nothing was done" in refused.text) == (400, True)
    assert "Ask someone who has the right" not in refused.text
    assert pages.cardinal.events(RunStopAsked) == []


@pytest.mark.after(scene=Cardinal.at_work)
def test_nobody_is_sent_elsewhere_after_acting(pages: Pages) -> None:
    bob = pages.browser("bob")
    item, _ = form_to_cancel(pages, bob)
    name = f"cancel:{pages.cardinal.run_of(item).run_id}"
    elsewhere = ("https://evil.example/", "//evil.example", "/sign-out", "/runs/r1\r\nX: y", "")
    each = [{**forms(bob, page_of(pages, item))[name], "back": back} for back in elsewhere]
    for form in each:
        assert send(bob, form).headers["Location"].startswith("/?acted=")


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_card_of_a_board_that_is_served_no_more_has_no_form(pages: Pages) -> None:
    bob = pages.browser("bob")
    _, form = form_to_cancel(pages, bob)
    services = pages.cardinal.services
    with event_store.writing(services.engine) as db:
        event_store.append(db, BoardRemoved(pages.cardinal.board_id), at=pages.cardinal.clock())
    elsewhere = replace(services.config, board=BoardAddress("acme", 99))
    bob.here.application = make_app(elsewhere, services.engine, pages.cardinal.clock)
    assert send(bob, form).status_code == 404
    assert commands(pages) == []


def test_a_role_at_another_owner_gives_no_say_over_a_board(pages: Pages) -> None:
    cardinal, store = pages.cardinal, pages.cardinal.forge.store
    _, site = elsewhere(cardinal)
    store.repos.set_role(site, cardinal.person("mallory"), Role.ADMIN)
    foreign = new(cardinal, cardinal.project, site)
    cardinal.new()
    cardinal.catch_up()
    mallory = pages.browser("mallory")
    assert forms(mallory, f"/boards/acme/{cardinal.project.number}") == {}
    word = mallory.here.get_cookie("__Host-cardinal", "cardinal.example.com")
    assert word is not None
    about = cardinal.card(foreign).card_id, "stop-all"
    token = new_token(cardinal.services.config.client_secret, word.value, *about)
    sent = send(mallory, {"card": about[0], "name": about[1], "back": "/", "token": token})
    assert (sent.status_code, commands(pages)) == (404, [])


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_form_is_not_used_up_while_github_does_not_answer(pages: Pages) -> None:
    bob = pages.browser("bob")
    _, form = form_to_cancel(pages, bob)
    shop = pages.cardinal.services
    away = replace(shop.config, github_url="http://127.0.0.1:9", home=shop.config.home / "other")
    bob.here.application = make_app(away, shop.engine, pages.cardinal.clock)
    late = send(bob, form)
    assert (late.status_code, "GitHub did not say what you may do" in late.text) == (503, True)
    bob.here.application = bob.app
    assert send(bob, form).status_code == 303
    assert len(commands(pages)) == 1


@pytest.mark.after(scene=Cardinal.at_work)
def test_few_forms_wait_at_once(pages: Pages) -> None:
    bob = pages.browser("bob")
    _, form = form_to_cancel(pages, bob)
    before = pages.asked()
    with ThreadPoolExecutor(ACTS_AT_ONCE) as threads:
        with event_store.writing(pages.cardinal.services.engine):
            waiting = [threads.submit(send, bob, form) for _ in range(ACTS_AT_ONCE)]
            until(lambda: pages.asked() == before + ACTS_AT_ONCE, "their roles are read")
            assert "Cardinal is busy" in send(bob, form).text
        assert [it.result(WAIT_S).status_code for it in waiting] == [303] * ACTS_AT_ONCE
    assert len(commands(pages)) == 1


@pytest.mark.after(scene=Cardinal.at_work)
def test_nobody_acts_without_end(pages: Pages) -> None:
    bob = pages.browser("bob")
    _, form = form_to_cancel(pages, bob)
    answers = [send(bob, form) for _ in range(ACTS_A_MINUTE + 1)]
    assert [it.status_code for it in answers] == [303] * ACTS_A_MINUTE + [503]
    assert answers[-1].headers["Retry-After"] == "60"


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_lacking_text_is_asked_for_and_nobody_is_sent_for_a_role(pages: Pages) -> None:
    item, bob = at_work(pages), pages.browser("bob")
    more = forms(bob, page_of(pages, item))[""]
    refused = send(bob, {**more, "name": "answer", "text": ""})
    assert (refused.status_code, "/cardinal answer needs a text" in refused.text) == (400, True)
    assert "Ask someone who has the right" not in refused.text
