"""Plays the demo's story with a real browser beside it and takes the documentation's pictures on the way."""

import dataclasses
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, sync_playwright

from forge.demo import launch
from forge.demo.stage import Stage
from forge.demo.story import TITLE, play

FOLDER = Path(__file__).parents[1] / "pictures"
BOARD = "/orgs/acme/projects/1"
# Nothing but the page itself: no profile of this machine, no requests of the browser's own.
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync"]  # fmt: skip
SHARPNESS = 2
# Cards beside the story's: title, text, column. CARTS is a card of the demo's that is worked on all the time.
OTHERS = (
    ("Tell new colleagues how prices work", "They ask every time.", "In Progress"),
    ("Remind people of what is in their cart", "Many carts are left behind.", "Planning"),
    ("Sort receipts by article", "They have the order of the cart.", "In Progress"),
)
CARTS = 2
QUIET_MS, LIMIT_MS, LOOK_MS = 2_500, 60_000, 250


@dataclass(slots=True)
class Camera:
    """A browser's page on the demo's forge, and what was taken so far."""

    page: Page
    stage: Stage
    cardinal_url: str
    folder: Path
    check: Callable[[Page], None]
    taken: list[Path] = field(default_factory=list)

    def open(self, path: str, *, width: int = 1440, height: int = 860) -> None:
        """Show a page of the forge as alice sees it."""
        url = self.stage.team.url
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.context.add_cookies([{"name": "forge_person", "value": "alice", "url": url}])
        self.page.goto(url + path)

    def inbox(self, *, width: int = 1000, height: int = 640) -> None:
        """Show Cardinal's inbox as alice sees it; she signs in first where she has not."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.goto(self.cardinal_url)
        way_in = self.page.get_by_role("link", name="Sign in with GitHub")
        if way_in.count():
            way_in.click()
            self.page.get_by_role("button", name="Sign in as").click()
            self.page.wait_for_url(f"{self.cardinal_url}/")

    def settle(self) -> None:
        """Return once nothing has changed for a while: what is edited in place comes a little later."""
        before, quiet_ms = "", 0
        for _ in range(LIMIT_MS // LOOK_MS):
            now = json.dumps(self.stage.everywhere()) + json.dumps(self.stage.card())
            quiet_ms = quiet_ms + LOOK_MS if now == before else 0
            if quiet_ms >= QUIET_MS:
                return
            before = now
            self.page.wait_for_timeout(LOOK_MS)

    def visit(self, path: str, *, width: int = 1000, height: int = 1000) -> None:
        """Show another page of Cardinal's to whoever is signed in."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.goto(f"{self.cardinal_url}{path}")

    def whole(self, name: str) -> None:
        """Take what the window shows; a page of Cardinal's is checked."""
        self.page.screenshot(path=self._path(name))
        if self.page.url.startswith(self.cardinal_url):
            self.check(self.page)

    def part(self, name: str, what: Locator) -> None:
        """Take one element."""
        what.scroll_into_view_if_needed()
        what.screenshot(path=self._path(name))

    def comment(self, name: str, *words: str) -> None:
        """Take the newest comment of Cardinal's that holds all the words, wherever it is."""
        found = self.stage.comment_with(*words)
        assert found is not None, words
        self.open(found["html_url"].split("#")[0].removeprefix(self.stage.team.url), width=1000, height=1400)
        self.part(name, self.page.locator(f"#issuecomment-{found['id']}"))

    def pull(self) -> None:
        """Show the pull request."""
        self.open(f"/acme/shop/pull/{self.stage.pull}", width=1000, height=860)

    def counts(self, text: str) -> None:
        """Wait until the board's line of counts says that: it is edited every 15 s at most."""
        self.page.get_by_text(text).wait_for(timeout=LIMIT_MS)

    def scroll_to(self, what: Locator) -> None:
        """Bring an element to the window's top, with a little room above it."""
        what.evaluate("one => window.scrollTo(0, one.getBoundingClientRect().top + window.scrollY - 16)")

    def card(self) -> Locator:
        """Return the story's card on the board."""
        return self.page.locator(".card").filter(has_text=TITLE)

    def _path(self, name: str) -> Path:
        path = self.folder / f"{name}.png"
        self.taken.append(path)
        return path


def _others(camera: Camera) -> None:
    """Bring other cards to several columns: one is worked on, two wait for a person, one is in review."""
    team, stage = camera.stage.team, camera.stage
    numbers = {title: team.new_card("carol", title, text, column) for title, text, column in OTHERS}
    stages = {title: dataclasses.replace(stage, number=number) for title, number in numbers.items()}
    noted, asked, planned = (stages[title] for title, _, _ in OTHERS)
    working = dataclasses.replace(stage, number=CARTS)
    asked.sees("the assistant asks", Agent="needs input")
    _approve(noted)
    noted.sees("the agent asks", Progress="Who should this note be written for")
    team.say("carol", noted.number, "1")
    noted.sees("the note is done", Agent="work complete")
    team.drag("carol", noted.number, "Review")
    planned.sees("its plan is there", Run="plan ready")
    team.drag("bob", working.number, "In Progress")
    _approve(working)
    noted.sees("it is in review", Agent="in review")
    working.sees("the agent works", Progress="Teaching the receipt")


def _approve(stage: Stage) -> None:
    stage.says("the plan is posted", "Plan of run", "box:approve")
    plan = stage.comment_with("Plan of run", "box:approve")
    assert plan is not None
    stage.tick("alice", plan, "approve")


def _brief_and_drag(camera: Camera) -> None:
    camera.settle()
    camera.comment("brief", "Ready for execution")
    camera.open(BOARD)
    page, mouse = camera.page, camera.page.mouse
    start = camera.card().bounding_box()
    target = page.locator('.column[data-column="In Progress"] .cards').bounding_box()
    assert start is not None
    assert target is not None
    mouse.move(start["x"] + 80, start["y"] + 12)
    mouse.down()
    mouse.move(start["x"] + 90, start["y"] + 20, steps=3)
    mouse.move(target["x"] + target["width"] / 2, target["y"] + 20, steps=8)
    page.wait_for_selector(".column.over")
    camera.whole("drag")
    mouse.move(start["x"] + 80, start["y"] + 20, steps=8)  # back: the story drags the card itself
    mouse.up()


def _plan(camera: Camera) -> None:
    camera.settle()
    camera.comment("plan", "Plan of run", "box:approve")


def _question(camera: Camera) -> None:
    _others(camera)
    camera.settle()
    camera.open(BOARD)
    camera.counts("1 running · 4 waiting on you · 0 queued")
    camera.whole("board")
    camera.comment("question", "has a question")
    camera.comment("run-comment", "box:cancel", "validate")
    camera.inbox()
    camera.whole("inbox")
    camera.inbox(width=390, height=700)
    camera.whole("inbox-phone")
    card = camera.page.locator("a[href^='/cards/']").first.get_attribute("href")
    camera.visit(f"{card}")
    camera.whole("card")
    camera.visit("/boards/acme/1", width=1440, height=860)
    camera.whole("cards")
    camera.page.locator("a[href^='/runs/']").first.click()
    camera.page.get_by_text("live", exact=True).wait_for(timeout=LIMIT_MS)
    camera.page.set_viewport_size({"width": 1000, "height": 1000})
    camera.whole("run")


def _report(camera: Camera) -> None:
    camera.settle()
    camera.comment("report", "is done", "what to check")


def _review(camera: Camera) -> None:
    camera.settle()
    camera.pull()
    camera.scroll_to(camera.page.locator("article.review").last)
    camera.whole("review")


def _answers(camera: Camera) -> None:
    camera.settle()
    camera.pull()
    for thread in camera.page.locator("details").filter(has_text="resolved by").all():
        thread.locator("summary").first.click()
    camera.scroll_to(camera.page.locator("article.review").last)
    camera.whole("answers")


def _merged(camera: Camera) -> None:
    camera.settle()
    camera.open(BOARD)
    camera.counts("1 running · 3 waiting on you · 0 queued")
    camera.whole("done")
    camera.inbox()
    for name, path in (("money", "/money"), ("health", "/health"), ("policy", "/policy/acme/1")):
        camera.visit(path)
        camera.whole(name)


# Taken before this step of the story is played; the last one after all of them.
WHEN: Mapping[str, Callable[[Camera], None]] = {
    "dragged to In Progress: queued, and says why": _brief_and_drag,
    "redirected once": _plan,
    "answered by a plain reply": _question,
    "dragged to Review": _report,
    "dragged back: a second run on the same branch": _review,
    "approved by a review": _answers,
}


def make() -> tuple[Path, ...]:
    """Take all pictures again; return their files."""
    FOLDER.mkdir(exist_ok=True)
    with chromium() as running:
        return take(running.new_page(device_scale_factor=SHARPNESS), FOLDER)


def take(page: Page, folder: Path, check: Callable[[Page], None] = lambda _: None) -> tuple[Path, ...]:
    """Play the story and take the pictures into the folder; `check` each page of Cardinal's that is taken."""
    root = Path(tempfile.mkdtemp(prefix="cardinal-pictures-"))
    try:
        with launch.running(root, settings={"CARDINAL_SCENARIOS": str(_scenarios(root))}) as scene:
            camera = Camera(page, Stage(scene.team), scene.cardinal_url, folder, check)

            def look(step: str) -> None:
                if step in WHEN:
                    WHEN[step](camera)

            play(camera.stage, before=look)
            _merged(camera)
            return tuple(camera.taken)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _scenarios(root: Path) -> Path:
    """Return a copy of the demo's scenarios in which one card is worked on while the pictures are taken."""
    folder = shutil.copytree(launch.SCENARIOS, root / "scenarios")
    carts = folder / "empty-carts.yml"
    carts.write_text(carts.read_text().replace("- sleep: 1.5", "- sleep: 3600", 1))
    return folder


@contextmanager
def chromium() -> Iterator[Browser]:
    """Give a Chromium with an empty profile; one without windows opens pages in a quarter of the time."""
    programs = os.environ.get("CHROMIUM"), *map(shutil.which, ("chromium-headless-shell", "chromium"))
    program = next(filter(None, programs), "/usr/bin/chromium")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield running
        running.close()
