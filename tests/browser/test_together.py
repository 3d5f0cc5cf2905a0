"""Two people act at once on open pages: one command acts, the other is told, and both see the same end."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Barrier

import pytest
from flask import request, request_started
from playwright.sync_api import Browser, Locator, Page, expect

from ledger.events.run import PlanApproved, QuestionAnswered, RunEnded
from ledger.states import Ending
from tests.bot.web.pages.forms import asked, page_of, planned
from tests.bot.web.pages.world import Pages
from tests.browser.conftest import WAIT_MS, looking
from tests.browser.test_live import Watched, served, sign_in
from tests.browser.test_live import town as town  # instead of the package's


@pytest.fixture
def colleague(browser: Browser, town: Watched) -> Iterator[Page]:
    """Return an empty page in another person's browser."""
    with looking(browser) as page:
        yield page


@contextmanager
def open_to_both(town: Watched, bobs: tuple[Page, str], alices: tuple[Page, str]) -> Iterator[None]:
    """Serve each an open live page; a form waits there until the other person's has come, too."""
    both = Barrier(2, timeout=WAIT_MS / 1000)

    def wait_for_both(_app: object) -> None:
        if request.path == "/act":
            both.wait()

    with request_started.connected_to(wait_for_both, town.app), served(town, bobs[0], alices[0]):
        for (page, path), login in ((bobs, "bob"), (alices, "alice")):
            sign_in(page, town, path, login)
            expect(page.locator("#live")).to_have_text("live")
        yield


def press(bobs: Locator, alices: Locator) -> dict[str, str]:
    """Press both buttons; return what each person reads about it. Their pages are not loaded again."""
    for button in (bobs, alices):
        button.click(no_wait_after=True)
    told = {}
    for login, button in (("bob", bobs), ("alice", alices)):
        button.page.wait_for_url("**acted=**")
        button.page.evaluate("window.loaded = 'once'")
        told[login] = button.page.locator("p.answer").inner_text()
    return told


def other(login: str) -> str:
    """Return the other one of the two."""
    return {"bob": "alice", "alice": "bob"}[login]


def assert_shown(what: str, *places: Locator) -> None:
    """Assert that both pages say so, as they were loaded."""
    for place in places:
        expect(place).to_have_text(what)
        assert place.page.evaluate("window.loaded") == "once"


def test_two_people_answer_a_question(page: Page, colleague: Page, town: Watched) -> None:
    run_id = town.cardinal.run_of(asked(Pages(town.cardinal, town.app), "8080", "8081")).run_id
    pages, path = (page, colleague), f"/runs/{run_id}"
    with open_to_both(town, (page, path), (colleague, path)):
        told = press(page.get_by_role("button", name="8080"), colleague.get_by_role("button", name="8081"))
        (answer,) = town.cardinal.events(QuestionAnswered)
        assert answer.text == {"bob": "8080", "alice": "8081"}[answer.by]
        assert "first" not in told[answer.by]
        beaten = f"{answer.by} answered that question first, with “{answer.text}”"
        assert f"{beaten}, so your answer changed nothing." in told[other(answer.by)]
        town.happens(RunEnded(run_id, Ending.CANCELLED, "", "", "queued"))
        assert_shown("cancelled", *(it.locator("#state .state") for it in pages))
        seen = [it.locator("#now, #work, #lines").all_inner_texts() for it in pages]
        assert seen[0] == seen[1]
        assert f"{answer.by}: {answer.text}" in seen[0][1]


def test_two_people_approve_a_plan(page: Page, colleague: Page, town: Watched) -> None:
    item = planned(Pages(town.cardinal, town.app))
    run_id = town.cardinal.run_of(item).run_id
    with open_to_both(town, (page, "/"), (colleague, page_of(Pages(town.cardinal, town.app), item))):
        told = press(*(it.get_by_role("button", name="Approve") for it in (page, colleague)))
        (approved,) = town.cardinal.events(PlanApproved)
        assert "already" not in told[approved.by]
        assert f"its plan is approved already by {approved.by}." in told[other(approved.by)]
        town.cardinal.begin(run_id)
        expect(page.locator("main .dot.working")).to_have_count(1)
        assert_shown("working", colleague.locator("main .state"))


def test_one_approves_a_plan_whose_card_the_other_drags_away(
    page: Page, colleague: Page, town: Watched
) -> None:
    cardinal, pages = town.cardinal, Pages(town.cardinal, town.app)
    item = planned(pages)
    run_id = cardinal.run_of(item).run_id
    with open_to_both(town, (page, page_of(pages, item)), (colleague, f"/runs/{run_id}")):
        cardinal.drag(item, "Tasks", who="alice")
        cardinal.catch_up()
        cancel = colleague.get_by_role("button", name="Cancel the run")
        expect(page.get_by_role("button", name="Cancel the run")).to_be_visible()
        told = press(page.get_by_role("button", name="Approve"), cancel)
        approved = cardinal.events(PlanApproved)
        assert ("alice cancelled r1 first" in told["bob"]) == (not approved)
        assert "first" not in told["alice"]
        cardinal.catch_up()
        assert_shown("cancelled", colleague.locator("#state .state"))
        expect(page.locator(".crumb")).to_contain_text("Tasks")
        assert page.evaluate("window.loaded") == "once"
        assert (cardinal.column(item), cardinal.run_of(item).ending) == ("Tasks", Ending.CANCELLED)
