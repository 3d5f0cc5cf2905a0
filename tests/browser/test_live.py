"""Somebody watches a run in a real browser: what happens is there at once, and once."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from flask import Flask
from playwright.sync_api import Page, expect

from bot.web.live.streams import StreamLimits
from bot.web.site import following
from ledger.event import Event
from ledger.events.board import CardExplained
from ledger.events.run import (
    AgentSaid,
    CommandChecked,
    Progressed,
    QuestionAnswered,
    RunEnded,
    RunQueued,
    RunRequeued,
    RunStepped,
    UsageMetered,
)
from ledger.ids import CardId, RunId
from ledger.log import event_store
from ledger.states import Ending, RunState
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.opening import opened
from tests.bot.web.live.serving import serving
from tests.bot.web.pages.world import Pages

HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
SHORT = StreamLimits(life_s=0.5)  # so that the page comes back several times


@dataclass
class Watched:
    """A Cardinal whose pages are served at `place`, as often as the server starts."""

    cardinal: Cardinal
    app: Flask
    place: socket.socket

    def happens(self, *events: Event) -> None:
        with event_store.writing(self.cardinal.services.engine) as db:
            event_store.append(db, *events, at=self.cardinal.clock())


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Watched]:
    """Instead of the demo's world alone: a Cardinal beside it, with an address."""
    with (
        socket.create_server(("127.0.0.1", 0)) as place,
        opened(tmp_path, public_url=f"http://127.0.0.1:{place.getsockname()[1]}") as cardinal,
    ):
        yield Watched(cardinal, Pages.over(cardinal).app, place)


@contextmanager
def served(town: Watched, *pages: Page, limits: StreamLimits | None = None) -> Iterator[None]:
    """Serve until the block ends; these pages leave before, for a server that stops refuses their streams."""
    with serving(town.app, town.cardinal.services.engine, limits, town.place):
        yield
        for page in pages:
            page.goto("about:blank")


def sign_in(page: Page, town: Watched, path: str, as_: str = "bob") -> None:
    """Open a page of Cardinal as somebody who signs in there."""
    page.context.add_cookies([{"name": "forge_person", "value": as_, "url": town.cardinal.forge.url}])
    page.goto(f"{town.cardinal.services.config.public_url}{path}")
    page.get_by_role("link", name="Sign in with GitHub").click()
    page.get_by_role("button", name=f"Sign in as {as_}").click()


def test_a_run_is_watched_over_dropped_connections_and_a_server_that_starts_anew(
    page: Page, town: Watched
) -> None:
    run_id = Pages(town.cardinal, town.app).run()
    lines, state = page.locator("#lines ol > li > div > bdi"), page.locator("#live")
    with served(town, limits=SHORT):
        sign_in(page, town, f"/runs/{run_id}")
        expect(state).to_have_text("live")
        page.evaluate("window.loaded = 'once'")
        loaded = lines.all_text_contents()
        town.happens(AgentSaid(run_id, "one"))
        expect(lines).to_have_text(["one", *loaded])  # the newest first
        expect(page.get_by_text("acme/shop", exact=True)).to_be_visible()
        page.route("**/live/**", lambda route: route.abort())
        expect(state).not_to_have_text("live")
    town.happens(AgentSaid(run_id, "two"))
    with served(town, page, limits=SHORT):
        page.unroute("**/live/**")
        expect(lines).to_have_text(["two", "one", *loaded])
        checked = CommandChecked(run_id, 1, "fast", "ruff", 1, 0.1, "", f"\x1b[31mred\x1b[0m {HOSTILE}")
        town.happens(AgentSaid(run_id, HOSTILE), checked)
        seen = ["fast: ruff → exit code 1", HOSTILE, "two", "one", *loaded]
        expect(lines).to_have_text(seen)
        page.get_by_text("output", exact=True).click()
        expect(page.locator("#lines .c1")).to_have_text("red")
        expect(page.locator("#work .checks")).to_contain_text("ruff")
        page.locator("#work summary", has_text="Output").click()
        town.happens(
            Progressed(run_id, "still at it"), CommandChecked(run_id, 1, "fast", "mypy", 0, 1.0, "", "")
        )
        expect(page.locator("#work .checks")).to_contain_text("mypy")
        expect(page.locator("#work details[open] .c1")).to_have_text("red")  # what was open stays open
        seen = ["fast: mypy → exit code 0", "still at it", *seen]
        town.happens(RunEnded(run_id, Ending.CANCELLED, "", "", "queued"))
        expect(state).to_have_text("ended")
        expect(page.locator("#state .state")).to_have_text("cancelled")
        followed = lines.all_text_contents()
        assert followed[-len(seen) :] == seen
        assert page.evaluate("window.loaded") == "once"
        assert "owned" not in page.title()
        page.reload()
        assert lines.all_text_contents() == followed
        expect(page.locator("main script, main img")).to_have_count(0)


def test_a_question_that_arises_is_answered_on_the_open_page_and_no_typed_word_is_lost(
    page: Page, town: Watched
) -> None:
    cardinal, pages = town.cardinal, Pages(town.cardinal, town.app)
    run_id = pages.run()
    cardinal.begin(run_id)
    tell = page.get_by_placeholder("Your words")
    answer = page.get_by_placeholder("Your answer")
    with served(town, page, limits=SHORT):
        sign_in(page, town, f"/runs/{run_id}")
        page.evaluate("window.loaded = 'once'")
        tell.fill("use less")
        with page.expect_response("**/forms"):
            town.happens(RunStepped(run_id, RunState.WORKING, RunState.VALIDATING))
        expect(page.locator("#state .state")).to_have_text("validating")
        expect(tell).to_have_value("use less")
        town.happens(RunStepped(run_id, RunState.VALIDATING, RunState.WORKING))
        first = cardinal.ask(run_id, "Which <b>port</b>?", "8080")
        expect(page.get_by_role("button", name="8080")).to_be_visible()
        expect(page.locator("#forms legend")).to_have_text("Which <b>port</b>?")
        expect(tell).to_have_count(0)  # a parked run reads nothing
        expect(page.locator("#forms .text")).to_contain_text("it was not sent: use less")
        answer.press_sequentially("neither")
        town.happens(Progressed(run_id, "one"))
        expect(page.locator("#lines")).to_contain_text("one")
        expect(answer).to_have_value("neither")
        expect(answer).to_be_focused()
        town.happens(QuestionAnswered(run_id, first, "alice", "8080"), RunRequeued(run_id, "answered"))
        expect(answer).to_have_count(0)
        expect(page.locator("#forms .text").last).to_contain_text("it was not sent: neither")
        cardinal.begin(run_id)
        cardinal.ask(run_id, "And which host?")
        answer.fill("localhost")
        assert page.evaluate("window.loaded") == "once"
        page.get_by_role("button", name="Answer").click()
        expect(page.locator(".answer")).to_contain_text("bob gave /cardinal answer")
        expect(page.locator("#live")).to_have_text("live")
        expect(page.locator("#work")).to_contain_text("bob: localhost")
        expect(answer).to_have_count(0)
        cardinal.begin(run_id)
        expect(tell).to_be_visible()


def test_somebody_sees_why_a_run_failed_and_retries_it_within_half_a_minute(
    page: Page, town: Watched
) -> None:
    cardinal = town.cardinal
    run_id = Pages(cardinal, town.app).run()
    cardinal.begin(run_id)
    output = "F\nFAILED tests/test_stock.py::test_race - AssertionError: assert -3 == 0\n1 failed in 0.10s\n"
    town.happens(CommandChecked(run_id, 1, "fast", "pytest -q", 1, 0.4, "", output))
    with served(town, page):
        sign_in(page, town, f"/runs/{run_id}")
        expect(page.locator("#live")).to_have_text("live")
        page.get_by_role("link", name="changes", exact=True).focus()  # somebody who uses the keyboard
        town.happens(RunEnded(run_id, Ending.FAILED, "validation", "The checks failed twice.", "validating"))
        began, need = time.monotonic(), page.get_by_label("What needs you")
        expect(need.get_by_role("heading")).to_have_text("Failed: the checks did not pass")
        expect(need).to_contain_text("tests/test_stock.py::test_race")
        output_of = page.locator("#work summary", has_text="Output")
        output_of.focus()
        page.keyboard.press("Enter")
        expect(page.locator("#work pre")).to_contain_text("assert -3 == 0")
        cardinal.catch_up()
        need.get_by_role("button", name="Retry").press("Enter")
        expect(page.locator(".answer")).to_contain_text("/cardinal retry")
        assert time.monotonic() - began < 30
    assert len(cardinal.events(RunQueued)) == 2


def explained(page: Page, town: Watched, card_id: CardId, why: str, seen: str) -> None:
    town.happens(CardExplained(card_id, f"it waits for {why}"))
    expect(page.get_by_text(f"it waits for {seen}")).to_be_visible()


def test_an_open_inbox_is_kept_up_to_date_but_for_what_somebody_writes_there(
    page: Page, town: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "PAUSE_S", 0.2)
    page.clock.install()
    cardinal = town.cardinal
    Pages(cardinal, town.app).run()
    card_id, state = cardinal.run(RunId("r1")).card_id, page.locator("#live")
    search, listed = page.get_by_role("searchbox"), page.locator("#list")
    with served(town, page):
        sign_in(page, town, "/")
        expect(state).to_have_text("live")
        page.evaluate("window.loaded = 'once'")
        page.get_by_text("State, repository, person, label").click()
        page.get_by_role("link", name="r1").focus()
        explained(page, town, card_id, HOSTILE, "<img")
        expect(page.get_by_role("link", name="r1")).to_be_focused()
        expect(page.locator("details[open]")).to_have_count(1)
        page.locator("summary", has_text="label").focus()
        explained(page, town, card_id, "the sun", "the sun")
        expect(page.locator("summary", has_text="label")).to_be_focused()
        search.fill("shop")
        cardinal.begin(RunId("r1"))
        cardinal.ask(RunId("r1"), "Which port?")
        act, answer = page.locator("summary", has_text="Answer"), page.get_by_placeholder("Your answer")
        spent = UsageMetered(RunId("r1"), 0.5, 1, 1, 1, 1.0)
        act.click()  # its forms come only now
        expect(answer).to_be_visible()
        expect(search).to_have_value("shop")
        act.focus()
        town.happens(spent)
        expect(listed).to_contain_text("$0.50")
        expect(answer).to_be_visible()
        expect(act).to_be_focused()
        answer.fill("8080")
        town.happens(spent)
        expect(state).to_contain_text("updates available")
        expect(answer).to_have_value("8080")
        expect(listed).to_contain_text("$0.50")
        answer.fill("")
        page.evaluate("document.activeElement.blur()")
        page.clock.fast_forward(10_000)
        expect(listed).to_contain_text("$1.00")
        expect(state).to_have_text("live")
        answer.fill("8080")
        assert page.evaluate("window.loaded") == "once"
        assert page.title() == "(1) Inbox · Cardinal"
        page.get_by_role("button", name="Answer", exact=True).click()
        expect(page.locator(".answer")).to_contain_text("bob gave /cardinal answer")
        assert page.evaluate("location.pathname") == "/"
