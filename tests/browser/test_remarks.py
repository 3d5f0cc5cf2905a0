"""Somebody reads the live diff of a run in a real browser, and a remark on a line reaches the agent."""

import pytest
from playwright.sync_api import Browser, Page, expect

from bot.web.pages import changes
from ledger.events.run import RunSteered
from ledger.ids import RunId
from tests.bot.web.pages.test_changes import checkpointed
from tests.bot.web.pages.world import Pages
from tests.browser.conftest import looking
from tests.browser.test_live import Watched, served, sign_in
from tests.browser.test_live import town as town  # instead of the package's


def begun(town: Watched) -> tuple[Pages, RunId]:
    """Return a run at work whose saved change is a line of add.py."""
    pages = Pages(town.cardinal, town.app)
    run_id = pages.run()
    town.cardinal.begin(run_id)
    checkpointed(pages, run_id, "</td><script>document.title='owned'</script>")
    return pages, run_id


def test_a_click_or_a_key_opens_the_form_at_a_line_and_words_in_it_outlive_the_next_diff(
    page: Page, town: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "PAUSE_S", 0.2)
    pages, run_id = begun(town)
    remark, line = page.get_by_label("Remark"), page.get_by_label("Line")
    with served(town, page):
        sign_in(page, town, f"/runs/{run_id}/changes")
        expect(page.locator("#live")).to_have_text("live")
        expect(page.locator(".diff")).to_contain_text("+</td><script>document.title='owned'</script>")
        page.locator(".diff tr.add td:nth-child(2)").click()
        expect(page.locator(".diff tr.remark form")).to_be_visible()
        expect(line).to_have_value("1")
        expect(remark).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.locator(".diff form")).to_have_count(0)
        expect(page.get_by_role("region", name="Diff of add.py")).to_be_focused()
        page.keyboard.press("j")  # the removed line
        page.keyboard.press("Enter")
        expect(line).to_have_value("-1")
        remark.press_sequentially("why not here?")
        checkpointed(pages, run_id, "later")
        expect(page.locator("#live")).to_contain_text("updates available")
        expect(remark).to_have_value("why not here?")
        page.get_by_role("button", name="Send to the agent").press("Enter")
        expect(page.locator(".answer")).to_contain_text("bob gave /cardinal redirect")
        expect(page.locator(".diff")).to_contain_text("+later")
        checkpointed(pages, run_id, "latest")
        expect(page.locator(".diff")).to_contain_text("+latest")
        assert "owned" not in page.title()
    (event,) = town.cardinal.events(RunSteered)
    assert (event.by, event.text) == ("bob", "add.py:1 (removed): why not here?")


def test_without_scripts_the_form_below_a_file_has_a_field_for_the_line(
    browser: Browser, town: Watched
) -> None:
    _, run_id = begun(town)
    with looking(browser, scripts=False) as page, served(town, page):
        sign_in(page, town, f"/runs/{run_id}/changes?layout=split")
        page.get_by_text("Remark on a line").click()
        page.get_by_label("Line").fill("1")
        page.get_by_label("Remark").fill("so")
        page.get_by_role("button", name="Send to the agent").click()
        expect(page.locator(".answer")).to_contain_text("bob gave /cardinal redirect")
        expect(page.locator(".split")).to_be_visible()
    (event,) = town.cardinal.events(RunSteered)
    assert event.text == "add.py:1: so"
