"""People who look all day use keys: what waits is decided from the inbox, and anything is found by name."""

import time

import pytest
from playwright.sync_api import Page, expect

from ledger.events.conversation import CommandGiven
from ledger.events.run import PlanApproved, QuestionAnswered, RunEnded
from ledger.states import Ending
from tests.bot.flows.settings import POLICY
from tests.bot.web.pages.forms import asked, at_work, page_of, planned
from tests.bot.web.pages.world import Pages
from tests.browser.test_live import Watched, served, sign_in
from tests.browser.test_live import town as town  # instead of the package's

MAX_S = 30


def answered(page: Page, left: int) -> None:
    """See that one more is done, and how many wait still."""
    expect(page.locator(".answer")).to_contain_text("gave /cardinal")
    expect(page).to_have_title(f"({left}) Inbox · Cardinal" if left else "Inbox · Cardinal")
    expect(page.locator(".side [data-nav='/'] small")).to_have_text(str(left or ""))


def test_three_waiting_questions_are_answered_from_the_inbox_by_keys_within_half_a_minute(
    page: Page, town: Watched
) -> None:
    pages = Pages(town.cardinal, town.app)
    planned(pages)
    town.cardinal.set_policy(POLICY)
    town.cardinal.catch_up()
    asked(pages, "8080", "8081")
    asked(pages)
    with served(town, page):
        sign_in(page, town, "/", "alice")
        expect(page).to_have_title("(3) Inbox · Cardinal")
        expect(page.locator(".inbox > .chosen")).to_have_count(1)
        began = time.monotonic()
        page.keyboard.press("a")  # the first row is open: its plan is there to read
        answered(page, 2)
        page.keyboard.press("2")
        answered(page, 1)
        page.keyboard.press("r")
        page.keyboard.type("jar 9000?")  # no key acts while somebody types
        page.keyboard.press("Control+Enter")
        answered(page, 0)
        assert time.monotonic() - began < MAX_S
    assert [event.by for event in town.cardinal.events(PlanApproved)] == ["alice"]
    assert [event.text for event in town.cardinal.events(QuestionAnswered)] == ["8081", "jar 9000?"]


def test_keys_move_open_and_find_and_what_is_closed_is_read_before_it_is_approved(
    page: Page, town: Watched
) -> None:
    pages = Pages(town.cardinal, town.app)
    first = asked(pages)
    plan = planned(pages)
    rows, key = page.locator(".inbox > li"), page.keyboard.press
    with served(town, page):
        sign_in(page, town, "/", "alice")
        expect(rows.nth(0)).to_have_class("chosen")
        key("j")
        expect(rows.nth(1)).to_have_class("chosen")
        key("k")
        expect(rows.nth(0)).to_have_class("chosen")
        key("j")
        key("a")
        expect(page.get_by_role("button", name="Approve the plan")).to_be_focused()
        assert town.cardinal.events(CommandGiven) == []
        key("j")
        key("Enter")
        expect(rows.nth(1).locator("details")).not_to_have_attribute("open", "")
        key("/")
        expect(page.get_by_role("searchbox")).to_be_focused()
        page.get_by_role("searchbox").blur()
        key("?")
        expect(page.get_by_role("dialog", name="Keys")).to_contain_text("approve the open plan")
        key("Escape")
        expect(page.locator("dialog")).to_have_count(0)
        key("k")
        expect(rows.nth(0)).to_have_class("chosen")
        key("Control+k")
        field = page.get_by_role("combobox", name="Find or do")
        field.fill("cancel end")
        expect(page.get_by_role("dialog").get_by_role("option")).to_have_count(1)
        key("Enter")
        page.get_by_role("dialog").get_by_role("button", name="Cancel").press("Enter")
        expect(page.locator(".answer")).to_contain_text("gave /cardinal cancel")
        assert page.evaluate("location.pathname") == page_of(pages, first)
        key("Control+k")
        field.fill(town.cardinal.run_of(plan).run_id)
        expect(page.get_by_role("dialog").get_by_role("option").first).to_contain_text("Run")
        key("Enter")
        expect(page).to_have_url(
            f"{town.cardinal.services.config.public_url}/runs/{town.cardinal.run_of(plan).run_id}"
        )
    assert [event.command for event in town.cardinal.events(CommandGiven)] == ["cancel"]


@pytest.mark.parametrize("refused", [False, True])
def test_all_cards_of_one_cause_are_retried_each_by_its_own_command(
    page: Page, town: Watched, *, refused: bool
) -> None:
    pages = Pages(town.cardinal, town.app)
    runs = [town.cardinal.run_of(at_work(pages)).run_id for _ in range(2)]
    for run_id in runs:
        town.cardinal.write(run_id, RunEnded(run_id, Ending.FAILED, "agent_error", "no key", "", cause="key"))
    town.cardinal.catch_up()
    with served(town, page):
        sign_in(page, town, "/", "alice")
        page.get_by_text("Show", exact=True).click()
        if refused:
            page.route("**/act", lambda route: route.fulfill(status=403))
        page.get_by_role("button", name="Retry all 2").click()
        if refused:
            expect(page.get_by_role("button", name="Retry the rest")).to_be_enabled()
        else:
            expect(page.get_by_text("Failed for the same reason")).to_have_count(0)
    assert len(town.cardinal.events(CommandGiven)) == (0 if refused else 2)
