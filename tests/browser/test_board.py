"""The board in a real browser: dragging, adding, watching."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import APIResponse, Locator, Page, Route, expect

from forge.store.board import FieldType
from forge.store.settings import DragShape
from tests.browser.world import Town

BOARD = "/orgs/acme/projects/1"
CURRENCY, CARTS = "Show prices in the customer's currency", "Empty carts should say so"


def card(page: Page, title: str) -> Locator:
    return page.locator(".card").filter(has_text=title)


def column(page: Page, name: str) -> Locator:
    return page.locator(f'.column[data-column="{name}"]')


def drag(
    page: Page, what: Locator, target: Locator, *, at: float = 0.5, held: Callable[[], None] = lambda: None
) -> None:
    """Drag with the mouse, to `at` of the target's height; `held` is called before the drop."""
    what.hover(trial=True)  # waits until it stands still
    start, end = what.bounding_box(), target.bounding_box()
    assert start is not None
    assert end is not None
    page.mouse.move(start["x"] + start["width"] / 2, start["y"] + 12)
    page.mouse.down()
    page.mouse.move(start["x"] + start["width"] / 2 + 10, start["y"] + 20, steps=3)
    page.mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] * at, steps=8)
    held()
    page.mouse.up()


def test_all_columns_of_the_demo_fit_a_window_of_1440_pixels(page: Page, town: Town) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    town.open(page, BOARD)
    sizes = page.locator(".board").evaluate("board => [board.scrollWidth, board.clientWidth]")
    assert sizes[0] == sizes[1]


def test_a_card_dragged_by_mouse_changes_its_column_and_the_apps_are_told(page: Page, town: Town) -> None:
    town.open(page, BOARD)
    with page.expect_response("**/drops"):
        drag(page, card(page, CURRENCY), column(page, "Planning").locator(".cards"))
    expect(column(page, "Planning").locator(".card")).to_contain_text(CURRENCY)
    assert town.column(CURRENCY) == "Planning"
    sent = town.payloads("projects_v2_item", "edited")[-1]
    assert sent["sender"]["login"] == "alice"
    assert sent["changes"]["field_value"]["to"]["name"] == "Planning"


def test_a_drag_is_announced_in_the_shape_that_the_menu_says(page: Page, town: Town) -> None:
    town.open(page, BOARD)
    page.get_by_text("Settings", exact=True).click()
    with page.expect_navigation():
        page.get_by_label("A drag is announced as").select_option("reordered")
    assert town.forge.store.settings.drag_shape is DragShape.REORDERED
    with page.expect_response("**/drops"):
        drag(page, card(page, CURRENCY), column(page, "Planning").locator(".cards"))
    sent = town.payloads("projects_v2_item", "reordered")[-1]
    assert sent["changes"]["previous_projects_v2_item_node_id"] == {"from": None, "to": None}
    assert town.column(CURRENCY) == "Planning"


def test_a_card_lands_where_it_is_dropped(page: Page, town: Town) -> None:
    town.new_card("First", "Planning")
    town.new_card("Second", "Planning")
    town.open(page, BOARD)
    with page.expect_response("**/drops"):
        drag(page, card(page, CURRENCY), card(page, "Second"), at=0.1)
    assert town.titles("Planning") == ["First", CURRENCY, "Second"]
    with page.expect_response("**/drops"):
        drag(page, card(page, "Second"), card(page, "First"), at=0.1)
    assert town.titles("Planning") == ["Second", "First", CURRENCY]
    expect(column(page, "Planning").locator(".card").first).to_contain_text("Second")
    with page.expect_response("**/drops"):
        drag(page, card(page, CARTS), column(page, "Planning").locator(".cards"), at=0.95)
    assert town.titles("Planning") == ["Second", "First", CURRENCY, CARTS]


def test_a_page_that_was_asked_for_before_a_drop_does_not_put_the_card_back(page: Page, town: Town) -> None:
    town.open(page, BOARD)
    late: list[tuple[Route, APIResponse]] = []
    page.route(f"**{BOARD}", lambda route: late.append((route, route.fetch())), times=1)
    with page.expect_request(f"**{BOARD}"):
        pass  # the page polls
    page.evaluate(
        """() => new MutationObserver(changes => changes.forEach(change => change.addedNodes.forEach(node => {
            if (node.matches?.('.card')) window.returned = true;
        }))).observe(document.querySelector('.column[data-column="Tasks"] .cards'), {childList: true})"""
    )
    with page.expect_response("**/drops"):
        drag(page, card(page, CURRENCY), column(page, "Planning").locator(".cards"))
    ((route, before),) = late
    with page.expect_response(lambda answer: answer.url.endswith(BOARD) and answer.headers != before.headers):
        route.fulfill(response=before)
    expect(column(page, "Planning").locator(".card")).to_contain_text(CURRENCY)
    assert not page.evaluate("window.returned")


def test_the_page_is_not_asked_for_while_a_drop_is_on_its_way(page: Page, town: Town) -> None:
    town.open(page, BOARD)
    seen: list[str] = []
    page.on("request", lambda request: seen.append(f"{request.method} {request.url}"))
    page.on("response", lambda answer: seen.append(str(answer.status)) if "/drops" in answer.url else None)
    with page.expect_response("**/drops"):
        drag(page, card(page, CURRENCY), column(page, "Planning").locator(".cards"))
    sent = next(at for at, line in enumerate(seen) if line.startswith("POST"))
    assert seen[sent + 1] == "204"


def test_a_card_is_moved_with_the_keyboard_alone(page: Page, town: Town) -> None:
    town.open(page, BOARD)
    select = card(page, CURRENCY).get_by_role("combobox")
    select.focus()
    with page.expect_response("**/drops"):
        select.select_option("In Progress")
    expect(column(page, "In Progress").locator(".card")).to_contain_text(CURRENCY)
    expect(card(page, CURRENCY)).to_have_count(1)
    expect(card(page, CURRENCY).get_by_role("combobox")).to_be_focused()
    assert town.column(CURRENCY) == "In Progress"


def test_a_new_card_becomes_an_issue_in_its_column(page: Page, town: Town) -> None:
    town.open(page, BOARD)
    planning = column(page, "Planning")
    planning.get_by_text("+ Add card").click()
    planning.get_by_label("Title").fill("Gift wrapping")
    planning.get_by_label("Description").fill("For *birthdays*.")
    planning.get_by_role("button", name="Add").click()
    expect(planning.locator(".card")).to_contain_text("Gift wrapping")
    issue = town.card("Gift wrapping").content
    assert issue in town.shop.issues.values()
    assert town.column("Gift wrapping") == "Planning"


def test_what_the_app_writes_appears_on_the_card_without_a_reload(page: Page, town: Town) -> None:
    town.open(page, BOARD)
    page.evaluate("window.untouched = true")
    column(page, "Tasks").get_by_text("+ Add card").click()
    column(page, "Tasks").get_by_label("Title").fill("half a thou")
    store, project, bot = town.forge.store, town.world.project, town.user("cardinal[bot]")
    for name, kind, content in (
        ("Agent", FieldType.TEXT, "needs_input"),
        ("Progress", FieldType.TEXT, "Which currency first?"),
        ("Cost $", FieldType.NUMBER, 0.4),
        ("PR", FieldType.TEXT, f"{town.forge.url}/acme/shop/pull/7"),
    ):
        field = store.projects.create_field(project, name, kind)
        store.projects.set_value(town.card(CURRENCY), field, content, actor=bot)
    store.projects.add_status_update(project, "1 waiting on you", "AT_RISK", actor=bot)
    mine = card(page, CURRENCY)
    expect(mine.locator(".agent-chip")).to_have_text("needs input")
    expect(mine.locator(".progress")).to_have_text("Which currency first?")
    expect(mine.locator(".chips")).to_contain_text("$0.40")
    expect(mine.get_by_role("link", name="PR #7")).to_have_attribute("href", "/acme/shop/pull/7")
    expect(page.locator(".ticker")).to_contain_text("1 waiting on you")
    expect(column(page, "Tasks").get_by_label("Title")).to_have_value("half a thou")
    assert page.evaluate("window.untouched")


def test_the_consequence_of_a_drag_stands_under_the_columns_name(page: Page, town: Town) -> None:
    store, status = town.forge.store, town.world.project.status
    town.open(page, BOARD)
    status.options[2].description = "An agent will start work."
    store.projects.update_field(status, options=list(status.options))
    expect(column(page, "In Progress").locator(".consequence")).to_have_text("An agent will start work.")


def test_somebody_outside_the_organisation_can_look_and_not_drag(page: Page, town: Town) -> None:
    town.open(page, BOARD, as_="mallory")
    expect(page.locator(".card[draggable]")).to_have_count(0)
    expect(page.get_by_text("+ Add card")).to_have_count(0)
    drag(page, card(page, CURRENCY), column(page, "Planning").locator(".cards"))
    fields = {"item": town.card(CURRENCY).node_id, "column": "Planning"}
    assert page.evaluate("fields => forge.post(location.pathname + '/drops', fields)", fields) is False
    expect(page.get_by_role("status")).to_have_text("Only members of acme can change this board.")
    assert town.column(CURRENCY) == "Tasks"


def test_becoming_somebody_else_is_one_choice_on_every_page(page: Page, town: Town) -> None:
    town.open(page, BOARD)
    with page.expect_navigation():
        page.get_by_label("You are", exact=True).select_option("bob")
    expect(page).to_have_url(re.compile(f"{BOARD}$"))
    expect(page.get_by_label("You are", exact=True).locator("option:checked")).to_have_text("bob (write)")


@pytest.mark.parametrize("scripts", ["come", "do not come"])
def test_an_archived_card_leaves_the_board(page: Page, town: Town, scripts: str) -> None:
    if scripts == "do not come":  # as when a button is pressed while they are under way
        page.route("**/-/assets/*.js", lambda route: route.abort())
    town.open(page, BOARD)
    card(page, CARTS).get_by_role("link").click()
    page.get_by_role("button", name="Archive the card").click()
    expect(page.locator(".place")).to_contain_text("archived")
    page.goto(town.forge.url + BOARD)
    expect(card(page, CARTS)).to_have_count(0)


def test_a_refused_drag_goes_back_to_where_the_card_was_and_says_so(page: Page, town: Town) -> None:
    town.open(page, BOARD)
    before = page.locator('.column[data-column="Tasks"] .card h3').all_text_contents()
    cards, members = column(page, "Planning").locator(".cards"), town.world.project.owner.members
    with page.expect_response("**/drops"):  # before it, the page would be brought up to date
        drag(page, card(page, CURRENCY), cards, held=lambda: members.discard("alice"))
    expect(page.get_by_role("status")).to_have_text(
        "Only members of acme can change this board. The card is back in Tasks."
    )
    expect(page.locator('.column[data-column="Tasks"] .card h3')).to_have_text(before)
    expect(column(page, "Planning").locator(".card")).to_have_count(0)


def test_a_page_says_that_it_lost_its_forge_puts_a_drag_back_and_finds_it_again(
    page: Page, town: Town
) -> None:
    town.open(page, BOARD)
    before = page.locator('.column[data-column="Tasks"] .card h3').all_text_contents()
    lost: list[bool] = []
    page.route("**/*", lambda route: route.abort() if lost else route.continue_())
    lost.append(True)
    banner = page.get_by_role("alert")
    expect(banner).to_contain_text("The forge does not answer.")
    drag(page, card(page, CURRENCY), column(page, "Planning").locator(".cards"))
    expect(page.get_by_role("status")).to_have_text("The forge does not answer. The card is back in Tasks.")
    expect(page.locator('.column[data-column="Tasks"] .card h3')).to_have_text(before)
    retry = banner.get_by_role("button", name="Try now")
    page.expose_function("found", lambda: lost.clear())  # by the press, not before it: the page polls, too
    retry.evaluate("button => button.addEventListener('click', () => window.found())")
    retry.click()
    expect(banner).to_be_hidden()


def test_the_keyboards_focus_stays_on_what_it_was_on_while_its_card_changes(page: Page, town: Town) -> None:
    town.open(page, BOARD)
    link = card(page, CURRENCY).get_by_role("link")
    link.focus()
    store, project = town.forge.store, town.world.project
    field = store.projects.create_field(project, "Progress", FieldType.TEXT)
    store.projects.set_value(town.card(CURRENCY), field, "Reading", actor=town.user("cardinal[bot]"))
    expect(card(page, CURRENCY).locator(".progress")).to_have_text("Reading")
    expect(link).to_be_focused()
    store.projects.drag(town.card(CURRENCY), "Review", actor=town.user("bob"))
    expect(column(page, "Review").locator(".card")).to_contain_text(CURRENCY)
    expect(link).to_be_focused()


def test_by_night_the_page_is_dark(page: Page, town: Town) -> None:
    page.emulate_media(color_scheme="dark")
    town.open(page, BOARD)
    ink, paper = page.evaluate(
        "() => [getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    assert max(map(int, re.findall(r"\d+", paper))) < 60
    assert min(map(int, re.findall(r"\d+", ink))) > 200
