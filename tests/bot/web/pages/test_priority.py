"""An urgent card goes first: by the board's own field, by a form of its page, and as the face tells it."""

from forge.store.board import Field, FieldType, Item, Option
from ledger.events.preference import RunReordered
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.settings import POLICY
from tests.bot.web.api.program import Program, path_of
from tests.bot.web.pages.forms import forms, page_of, send
from tests.bot.web.pages.world import Pages


def priority_field(cardinal: Cardinal, *names: str) -> Field:
    options = [Option("", name, "RED", "") for name in names]
    return cardinal.forge.store.projects.create_field(
        cardinal.project, "Priority", FieldType.SINGLE_SELECT, options
    )


def test_the_boards_field_and_the_cards_page_put_a_card_first_and_its_face_says_so(pages: Pages) -> None:
    cardinal = pages.cardinal
    cardinal.set_policy(f"{POLICY}  queue_order: priority\n")
    field = priority_field(cardinal, "🔥 High", "Medium")
    cardinal.catch_up()
    first, second, third = (cardinal.new(column="In Progress") for _ in range(3))
    cardinal.catch_up()

    def order() -> tuple[Item, ...]:
        items = {cardinal.run_of(item).run_id: item for item in (first, second, third)}
        return tuple(items[run_id] for run_id in cardinal.ready())

    usual = order()
    last = usual[-1]

    cardinal.forge.gateway.calls.clear()
    store, high = cardinal.forge.store.projects, field.options[0].id
    store.set_value(last, field, high, actor=cardinal.person("alice"))
    cardinal.catch_up()
    assert order()[0] is last
    assert len(cardinal.calls("query Card(")) == 1, cardinal.calls("")  # with all else of the card
    assert cardinal.face(last)["Run"].startswith(f"{cardinal.run_of(last).run_id} · high · ")

    browser, middle = pages.browser("alice"), usual[1]
    page = page_of(pages, middle)
    assert send(browser, {**forms(browser, page)["priority"], "text": "urgent"}).status_code == 303
    cardinal.catch_up()
    assert order()[:2] == (middle, last)
    assert "urgent, alice chose it" in browser.get(page).text
    assert "field Priority says <code>🔥 High</code>" in browser.get(page_of(pages, last)).text
    job = Program(pages, "alice").get(path_of(pages, middle))
    assert (job["priority"], job["priority_why"]) == ("urgent", "alice chose it")
    assert job["limits"] == "30 minutes, 60 turns, $2.00"

    cardinal.set_policy(POLICY)
    cardinal.catch_up()
    assert order() == usual
    assert "urgent" not in cardinal.face(middle)["Run"]
    assert len(cardinal.events(RunReordered)) == 4
    cardinal.assert_nothing_is_stuck()
