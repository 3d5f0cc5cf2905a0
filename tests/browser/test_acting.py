"""Everything that people do on Cardinal's pages is pressed in a real browser, with scripts and without."""

from playwright.sync_api import Browser, Page, expect

from bot.outbox import subscribers
from ledger.events.conversation import CommandGiven
from ledger.events.person import NoticesChosen
from ledger.events.run import RunParked
from rules.chatops.notices import Subscriber
from tests.bot.web.pages.forms import asked, at_work, page_of
from tests.bot.web.pages.world import Pages
from tests.browser.conftest import looking
from tests.browser.test_live import Watched, served, sign_in
from tests.browser.test_live import town as town  # instead of the package's


def press(page: Page, button: str, command: str, **words: str) -> None:
    """Fill in the words by what is in the empty field, press the button, and read what became of it."""
    further = page.locator("details.more:not([open]) > summary")  # of a card: the page has nothing else open
    if further.count() and not page.get_by_role("button", name=button, exact=True).is_visible():
        further.click()
    for field, text in words.items():
        page.get_by_placeholder(field.replace("_", " ")).fill(text)
    page.get_by_role("button", name=button, exact=True).click()
    expect(page.locator("p.answer")).to_contain_text(f"alice gave /cardinal {command}")


def given(town: Watched) -> list[tuple[str, str]]:
    return [(event.command, event.argument) for event in town.cardinal.events(CommandGiven)]


def choose_notices(page: Page) -> None:
    page.get_by_label("question").uncheck()
    page.get_by_role("combobox", name="Send").select_option("60")
    page.get_by_role("button", name="Save my notices").click()
    expect(page.get_by_label("question")).not_to_be_checked()


def tops_of_columns(page: Page) -> list[int]:
    """Return how far each column of the board is from the page's top, in a window of 1440 pixels."""
    before = page.viewport_size
    assert before is not None
    page.set_viewport_size({"width": 1440, "height": 900})
    tops: list[int] = page.locator(".columns section").evaluate_all("all => all.map(one => one.offsetTop)")
    assert len(tops) >= 6
    page.set_viewport_size(before)
    return tops


def test_each_action_of_the_pages_is_pressed(page: Page, town: Watched) -> None:
    cardinal = town.cardinal
    subscribers.write(cardinal.services.config.home, {"alice": Subscriber(address="json://here")})
    pages = Pages(cardinal, town.app)
    item = at_work(pages)
    run_id, place = cardinal.run_of(item).run_id, cardinal.services.config.public_url
    with served(town, page):
        sign_in(page, town, page_of(pages, item), "alice")
        press(page, "Message the agent", "redirect", Your_words="use less")
        press(page, "Add dollars", "budget", **{"Dollars, such as +2": "+2"})
        page.get_by_text("More", exact=True).click()
        page.get_by_text("More commands").click()
        page.get_by_role("combobox", name="Command").select_option("link")
        page.get_by_label("Text for the command").fill("blocked_by #99")
        press(page, "Send command", "link")
        press(page, "Pause", "pause")
        town.happens(RunParked(run_id, "pause"))
        press(page, "Resume", "resume")
        press(page, "Cancel", "cancel")
        press(page, "Retry", "retry")
        press(page, "Cancel", "cancel")
        press(page, "Tasks", "move")
        page.goto(f"{place}/boards/acme/1")
        assert len(set(tops_of_columns(page))) == 1
        press(page, "Stop all runs", "stop-all")
        press(page, "Resume the board", "resume")
        page.get_by_role("link", name="Policy", exact=True).click()
        page.get_by_label("Or paste a policy file").fill("version: 2")
        page.get_by_role("button", name="Compare", exact=True).click()
        expect(page.get_by_text("This file would be rejected")).to_be_visible()
        page.goto(f"{place}/notices")
        choose_notices(page)
    assert given(town) == [
        ("redirect", "use less"),
        ("budget", "+2"),
        ("link", "blocked_by #99"),
        ("pause", ""),
        ("resume", ""),
        ("cancel", ""),
        ("retry", ""),
        ("cancel", ""),
        ("move", "Tasks"),
        ("stop-all", ""),
        ("resume", "board"),
    ]
    assert len(cardinal.events(NoticesChosen)) == 1


def test_the_pages_work_without_scripts(browser: Browser, town: Watched) -> None:
    cardinal = town.cardinal
    pages = Pages(cardinal, town.app)
    run_id = cardinal.run_of(asked(pages, "8080", "8081")).run_id
    with looking(browser, scripts=False) as page, served(town, page):
        sign_in(page, town, "/", "alice")
        page.get_by_role("searchbox").fill("what no title has")
        page.get_by_role("searchbox").press("Enter")
        expect(page.locator("#list").get_by_role("status")).to_have_text("No cards that you may see match.")
        page.get_by_role("link", name="Show all").click()
        page.get_by_role("link", name=run_id, exact=True).click()
        press(page, "8081", "answer")
        press(page, "Cancel", "cancel")
        expect(page.locator("#state .state")).to_have_text("cancelled")
    assert given(town) == [("answer", "2"), ("cancel", "")]


def test_a_card_is_dragged_to_a_column_that_says_what_that_does(page: Page, town: Watched) -> None:
    cardinal = town.cardinal
    item = cardinal.new("Mail when an order ships", "Tasks")
    cardinal.catch_up()
    with served(town, page):
        sign_in(page, town, "/boards/acme/1", "alice")
        page.locator("li.card", has_text="Mail when an order ships").hover()
        page.mouse.down()
        for _ in range(2):  # a browser says that something is over a place when it moves there again
            page.locator("section[data-column='In Progress'] h2").hover()
        expect(page.locator("#toast")).to_contain_text("In Progress: An agent will be assigned")
        page.mouse.up()
        expect(page.locator("#toast")).to_contain_text("alice gave /cardinal move")
    assert given(town) == [("move", "In Progress")]
    cardinal.catch_up()
    assert cardinal.column(item) == "In Progress"
