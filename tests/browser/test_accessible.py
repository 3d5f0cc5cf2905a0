"""People who see little, or use no mouse, can use every page: axe-core's rules, light, dark and on a phone.

Source of the rules: github.com/dequelabs/axe-core, `doc/rule-descriptions.md`.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from flask import Flask, template_rendered
from jinja2 import Template
from playwright.sync_api import Page, ViewportSize, expect

from bot.outbox import subscribers
from bot.web.site import layout
from ledger.events.run import CommandChecked, QuestionAnswered, RunQueued, ToolUsed, UsageMetered
from ledger.ids import RunId
from ledger.states import RunKind
from rules.chatops.notices import Subscriber
from tests.bot.web.pages.test_cards import asked
from tests.bot.web.pages.test_changes import checkpointed
from tests.bot.web.pages.world import Pages
from tests.browser.test_live import Watched, served
from tests.browser.test_live import town as town  # instead of the package's
from tests.published import fetching

DESK: ViewportSize = {"width": 1280, "height": 800}
WIDE: ViewportSize = {"width": 1920, "height": 1080}
PHONE: ViewportSize = {"width": 390, "height": 844}
LOOKS: tuple[tuple[Literal["light", "dark"], ViewportSize], ...] = (
    ("light", DESK),
    ("dark", WIDE),
    ("light", PHONE),  # no colour depends on the width
)
# In the dark, nothing but colours is other.
ALL_RULES, BY_COLOUR = "{}", "{runOnly: ['color-contrast', 'link-in-text-block']}"
# What scrolls sideways and cannot be reached or has no name; and whatever breaks words to be narrow.
UNREACHED = """[...document.querySelectorAll('.wide')].filter(it => it.tabIndex < 0
    || it.getAttribute('role') != 'region' || !(it.ariaLabel || it.getAttribute('aria-labelledby'))
    || getComputedStyle(it).overflowWrap == 'anywhere').map(it => it.outerHTML.slice(0, 200))
"""
# Words in a column so narrow that few of them stand in a line.
SQUEEZED = """[...document.querySelectorAll('.wide td')].filter(it => it.innerText.length > 60
    && it.clientWidth < 200).map(it => it.innerText.slice(0, 200))
"""
# Buttons beyond the window's edge, and times that are broken into lines.
CUT = """[...document.querySelectorAll('button, time')].filter(it => it.matches('time')
    ? it.getClientRects().length > 1 : it.getBoundingClientRect().right > innerWidth)
    .map(it => it.outerHTML.slice(0, 200))
"""
# Times that do not say in which zone they are when they are pointed at.
UNZONED = """[...document.querySelectorAll('main time[datetime], main [data-since]')]
    .filter(it => !/UTC/.test(it.title)).map(it => it.outerHTML.slice(0, 200))
"""
WEB = Path(layout.__file__).parents[1]


@pytest.fixture
def axe() -> bytes:
    """Return axe-core's script."""
    if not fetching.here():
        pytest.skip(fetching.MISSING)
    return fetching.read("axe.js")


@pytest.fixture
def inbox(page: Page, town: Watched) -> Iterator[Page]:
    """Return the inbox of bob, whose run asks a question."""
    run_id = RunId(asked(town.cardinal))
    town.happens(UsageMetered(run_id, 1.25, 10, 10, 1, 60.0))
    failed = "FAILED tests/test_cart.py::test_total - AssertionError\n\x1b[31mred\x1b[0m"
    town.happens(
        ToolUsed(run_id, "edit", "add.py", True),
        CommandChecked(run_id, 1, "fast", "pytest", 1, 1.0, "", failed),
    )
    checkpointed(Pages(town.cardinal, town.app), run_id, 'return f"{1}"  # the newest')
    subscribers.write(town.cardinal.services.config.home, {"bob": Subscriber(address="json://here")})
    page.context.add_cookies([{"name": "forge_person", "value": "bob", "url": town.cardinal.forge.url}])
    with served(town, page):
        page.goto(f"{town.cardinal.services.config.public_url}/")
        yield page


def sign_in(page: Page) -> None:
    """Sign in as bob; the inbox is shown."""
    page.get_by_role("link", name="Sign in with GitHub").click()
    page.get_by_role("button", name="Sign in as bob").click()
    expect(page.get_by_role("heading", name="Inbox")).to_be_visible()


def broken(page: Page, rules: str = ALL_RULES) -> list[tuple[str, str]]:
    """Return each rule that the page breaks, with the first place; and where it is wider than the window."""
    found = page.evaluate(f"axe.run({rules}).then(it => it.violations.map(v => [v.id, v.nodes[0].html]))")
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    unreached = page.evaluate(UNREACHED)
    return [
        *map(tuple, found),
        *([("wide", page.url)] if wide else ()),
        *(("keyboard", it) for it in unreached),
        *(("squeezed", it) for it in page.evaluate(SQUEEZED)),
        *(("cut", it) for it in page.evaluate(CUT)),
        *(("zone", it) for it in page.evaluate(UNZONED)),
    ]


def look(page: Page, path: str | None) -> None:
    """See that the page breaks no rule, in each look, with all that it folds away."""
    page.evaluate("document.querySelectorAll('details').forEach(it => { it.open = true; })")
    for scheme, size in LOOKS:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size(size)
        faults = broken(page, BY_COLOUR if scheme == "dark" else ALL_RULES)
        assert (scheme, size, path, faults) == (scheme, size, path, [])


def test_no_page_breaks_a_rule(inbox: Page, axe: bytes, town: Watched) -> None:
    shown: set[str | None] = set()

    def note(_: Flask, template: Template, **__: object) -> None:
        shown.add(template.name)

    template_rendered.connect(note, town.app)
    (queued,) = town.cardinal.events(RunQueued)
    again = replace(
        queued, run_id=RunId("r9"), kind=RunKind.RERUN, again_of=queued.run_id, branch="cardinal/b"
    )
    town.happens(again)
    inbox.add_init_script(axe.decode())
    place = inbox.url.rstrip("/")
    inbox.reload()
    assert broken(inbox) == []
    sign_in(inbox)
    links = {
        kind: inbox.locator(f"a[href^='/{kind}/']").first.get_attribute("href")
        for kind in ("boards", "cards", "runs")
    }
    assert all(links.values()), links
    policy = str(links["boards"]).replace("/boards", "/policy")
    inbox.goto(f"{place}/tokens")
    inbox.get_by_label("Name").fill("release build")
    inbox.get_by_role("button", name="Create token").click()
    for path in (
        "/",
        *links.values(),
        "/runs",
        f"/runs/{queued.run_id}/compare/r9",
        f"{links['cards']}?zoom=activity",
        f"{links['cards']}?zoom=debug",
        f"{links['boards']}?search=shop&label=bgu",
        *(f"{links['runs']}/{tab}" for tab in ("changes", "changes?layout=split", "briefing", "artifacts")),
        f"{links['boards']}/new",
        policy,
        *(
            f"{policy}/{part}"
            for part in ("edit", "edit?column=In+Progress", "edit?part=new", "recipes", "recipes/pipeline")
        ),
        "/money",
        "/notices",
        "/tokens",
        "/hosts",
        "/workspaces",
        "/folders",
        "/health",
        "/runs/r999",
        "/nothing",
    ):
        inbox.goto(f"{place}{path}")
        look(inbox, path)
    inbox.goto(f"{place}/runs")
    inbox.get_by_role("checkbox", name="Select").first.check()
    inbox.get_by_role("button", name="Show what would happen").click()
    look(inbox, "/bulk")
    pages = {it.name for it in WEB.rglob("*.html") if '{% extends "page.html" %}' in it.read_text()}
    assert pages - shown == set()


def test_a_question_is_answered_with_the_keyboard_alone(inbox: Page, town: Watched) -> None:
    sign_in(inbox)
    inbox.get_by_role("searchbox").fill("what no title has")
    inbox.keyboard.press("Enter")
    expect(inbox.locator("#list").get_by_role("status")).to_have_text("No cards that you may see match.")
    inbox.get_by_role("link", name="Show all").press("Enter")
    inbox.get_by_role("button", name="green").focus()
    inbox.keyboard.press("Enter")
    expect(inbox.locator(".answer")).to_contain_text("/cardinal answer")
    (answer,) = town.cardinal.events(QuestionAnswered)
    assert (answer.by, answer.text) == ("bob", "green")
