"""Plays the demo's story with a real browser beside it and takes the documentation's pictures on the way."""

import base64
import dataclasses
import json
import os
import shutil
import signal
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, sync_playwright

from forge.demo import launch
from forge.demo.people import REPOSITORY, Team
from forge.demo.stage import Stage
from forge.demo.story import TITLE, play
from forge.seed.demo import TEAM
from forge.store import Store

SCENARIOS = Path(__file__).with_name("scenarios")  # of the cards that only the pictures have
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
# A picture's commonest colours, and each pixel as the number of the nearest: a third of the bytes.
COLOURS = 256
REDUCE = """async ([png, most]) => {
  const image = await createImageBitmap(await (await fetch("data:image/png;base64," + png)).blob());
  const {width, height} = image, canvas = new OffscreenCanvas(width, height), seen = new Map();
  const context = canvas.getContext("2d", {willReadFrequently: true});
  context.drawImage(image, 0, 0);
  const pixels = new Uint32Array(context.getImageData(0, 0, width, height).data.buffer);
  for (const pixel of pixels) seen.set(pixel, (seen.get(pixel) ?? 0) + 1);
  const parts = (pixel) => [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];
  const common = [...seen].sort((one, other) => other[1] - one[1]).slice(0, most);
  const palette = common.map(([pixel]) => parts(pixel));
  const nearest = new Map();
  for (const pixel of seen.keys()) {
    const own = parts(pixel);
    const far = palette.map((it) => it.reduce((sum, part, at) => sum + (part - own[at]) ** 2, 0));
    nearest.set(pixel, far.indexOf(Math.min(...far)));
  }
  const rows = new Uint8Array((width + 1) * height);
  for (let at = 0; at < pixels.length; at++) rows[at + Math.floor(at / width) + 1] = nearest.get(pixels[at]);
  let text = "";
  for (let at = 0; at < rows.length; at += 8192) text += String.fromCharCode(...rows.subarray(at, at + 8192));
  return {width, height, palette: palette.flat(), rows: btoa(text)};
}"""
QUIET_MS, LIMIT_MS, LOOK_MS = 2_500, 60_000, 250


@dataclass(slots=True)
class Camera:
    """A browser's page on the demo's forge, and what was taken so far."""

    page: Page
    stage: Stage
    store: Store
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

    def inbox(self, *, width: int = 1200, height: int = 640) -> None:
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

    def visit(self, path: str, *, width: int = 1200, height: int = 760) -> None:
        """Show another page of Cardinal's to whoever is signed in."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.goto(f"{self.cardinal_url}{path}")

    def whole(self, name: str) -> None:
        """Take what the window shows; a page of Cardinal's is checked."""
        self._keep(name, self.page.screenshot())
        if self.page.url.startswith(self.cardinal_url):
            self.check(self.page)

    def part(self, name: str, what: Locator) -> None:
        """Take one element."""
        what.scroll_into_view_if_needed()
        self._keep(name, what.screenshot())

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

    def live(self) -> None:
        """Wait until the page follows its stream."""
        self.page.get_by_text("live", exact=True).wait_for(timeout=LIMIT_MS)

    def visit_card(self, number: int, **size: int) -> None:
        """Show Cardinal's page of a card."""
        self.visit(f"/cards/{REPOSITORY}/{number}", **size)
        self.live()

    def visit_run(self, number: int, tab: str = "", **size: int) -> None:
        """Show the page of a card's newest run."""
        self.visit_card(number)
        run = self.page.locator("aside a[href^='/runs/']").last.get_attribute("href")
        self.visit(f"{run}{tab}", **size)

    def _keep(self, name: str, png: bytes) -> None:
        path = self.folder / f"{name}.png"
        path.write_bytes(self._reduced(png))
        self.taken.append(path)

    def _reduced(self, png: bytes) -> bytes:
        """Return the picture with a palette. Source: the PNG specification, sections 5 and 11."""
        browser = self.page.context.browser
        assert browser is not None
        blank = browser.new_page()
        made = blank.evaluate(REDUCE, [base64.b64encode(png).decode(), COLOURS])
        blank.close()
        chunks = {
            b"IHDR": struct.pack(">IIBBBBB", made["width"], made["height"], 8, 3, 0, 0, 0),
            b"PLTE": bytes(made["palette"]),
            b"IDAT": zlib.compress(base64.b64decode(made["rows"]), 9),
            b"IEND": b"",
        }
        return b"\x89PNG\r\n\x1a\n" + b"".join(
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
            for kind, data in chunks.items()
        )


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
    working.sees("the agent works", Progress="Testing an empty cart")


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
    camera.live()
    camera.whole("inbox")
    camera.inbox(width=390, height=700)
    camera.live()
    camera.whole("inbox-phone")
    camera.visit_card(camera.stage.number)
    camera.whole("card")
    camera.visit("/boards/acme/1", width=1440, height=760)
    camera.live()
    camera.whole("cards")
    camera.visit_run(camera.stage.number)
    camera.live()
    camera.whole("run")
    camera.visit_run(CARTS, "/changes", height=640)
    camera.page.locator(".diff tr.add td:nth-child(2)").last.click()
    camera.page.locator("tr.remark textarea").fill("Say it in the language of the customer.")
    camera.whole("remark")


def _report(camera: Camera) -> None:
    camera.settle()
    camera.comment("report", "is done", "what to check")
    camera.visit_run(camera.stage.number, height=900)
    camera.page.get_by_role("heading", name="Report", exact=True).wait_for(timeout=LIMIT_MS)
    camera.whole("story")


def _in_review(camera: Camera) -> None:
    camera.settle()
    camera.visit_card(camera.stage.number, height=900)
    camera.whole("card-review")


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
    for name, path, height in AFTERWARDS:
        camera.visit(path, height=height)
        camera.whole(name)
    for tutorial in (_pipeline, _fleet, _crash, _breaker):
        tutorial(camera)


AFTERWARDS = (
    ("runs", "/runs", 620),
    ("money", "/money", 760),
    ("health", "/health", 900),
    ("policy", "/policy/acme/1", 760),
    ("policy-edit", "/policy/acme/1/edit?column=In+Progress", 900),
    ("recipe", "/policy/acme/1/recipes/pipeline", 760),
)
# What an operator meets: a model that there is none of, in the policy.
POLICY_FILE = "/repos/acme/board/contents/.github/cardinal.yml"
STAGED = "Add the delivery date to receipts"
STAGES = """\
      stages:
        - {name: design, persona: architect, next: [build]}
        - {name: build, persona: senior-engineer, next: [verify]}
        - {name: verify, persona: tester, next: [build, end], tools: {edit: deny}}
"""
FLEET = ("api", "web", "docs")
CARE = """\
  specialists: {gardener: {agent: scripted, model: shop}}
  repositories:
    without_policy: {validation: {full: ["test -s requirements.txt"]}, guardrails: {dependencies: allow}}
"""
ALL_AGENTS = "agent: scripted\n      model: shop\n      instructions: Follow"
GARDENER = f'agents: ["@gardener"]\n      {ALL_AGENTS}'
STAGED_CARDS = {STAGED: "pipeline", "Update what docs": "major", "Update what": "update"}
BROKEN = ("Round prices down", "Print the date on receipts", "Sort the cart by price")


def _change_policy(camera: Camera, old: str, new: str, *, shown: str = "") -> None:
    """Change the board's policy file; with `shown`, wait until its page has that text."""
    team = camera.stage.team
    there = team.call("alice", "GET", POLICY_FILE)
    text = base64.b64decode(there["content"]).decode().replace(old, new)
    content = base64.b64encode(text.encode()).decode()
    body = {"message": "Change the policy", "content": content, "sha": there["sha"]}
    team.call("alice", "PUT", POLICY_FILE, body)
    if shown:
        camera.stage.wait("the policy is in force", lambda: _shown(camera, "/policy/acme/1", shown))


def _pipeline(camera: Camera) -> None:
    """A card goes through three roles; the last one sends it back once."""
    _change_policy(
        camera, "      plan_approval: required\n", f'      plan_approval: "off"\n{STAGES}', shown="architect"
    )
    number = camera.stage.team.new_card("bob", STAGED, "Customers ask for it every day.", "In Progress")
    dataclasses.replace(camera.stage, number=number).sees("it is done", Agent="work complete")
    camera.settle()
    camera.visit_run(number, height=1000)
    camera.page.get_by_role("heading", name="Report", exact=True).wait_for(timeout=LIMIT_MS)
    camera.whole("pipeline")
    _change_policy(camera, STAGES, "")


def _fleet(camera: Camera) -> None:
    """One specialist looks after three more repositories of the board, and needs an answer in one."""
    team, store = camera.stage.team, camera.store
    acme, alice = store.users.get("acme"), store.users.get("alice")
    for name in FLEET:
        repo = store.repos.create(acme, name)
        for login, role in TEAM.items():
            store.repos.set_role(repo, store.users.get(login), role)
        store.repos.write_files(repo, "main", {"requirements.txt": b"flask==3.0\n"}, "Start", actor=alice)
    _change_policy(camera, "  columns:\n", f"{CARE}  columns:\n", shown="test -s requirements.txt")
    _change_policy(camera, ALL_AGENTS, GARDENER, shown="@gardener")
    for name in FLEET:
        title, text = f"Update what {name} depends on", "All tests stay green."
        number = team.new_card("bob", title, text, "Tasks", f"acme/{name}")
        team.call("bob", "POST", f"/repos/acme/{name}/issues/{number}/labels", {"labels": ["agent:gardener"]})
        team.drag("bob", number, "In Progress", f"acme/{name}")
    camera.stage.wait("two are done, one asks", lambda: _has_worked(team))
    camera.visit("/boards/acme/1?lanes=repository&label=agent:gardener", width=1440, height=860)
    camera.settle()
    camera.live()
    camera.whole("fleet")


def _has_worked(team: Team) -> str:
    """Return the states of the fleet's cards once its work is as far as it goes alone."""
    cards = [
        card for board in team.state()["boards"] for column in board["columns"] for card in column["cards"]
    ]
    names = {f"acme/{name}" for name in FLEET}
    states = sorted(
        str(card["fields"].get("Agent")).partition(" ")[2]
        for card in cards
        if card.get("repository") in names
    )
    return ", ".join(states) if states == ["needs input", "work complete", "work complete"] else ""


def _breaker(camera: Camera) -> None:
    """A mistake in the policy fails cards for one cause, until the board halts."""
    team = camera.stage.team
    _change_policy(camera, "model: shop", "model: shopp", shown="shopp")
    for title in BROKEN:
        number = team.new_card("alice", title, "As the others.", "In Progress")
        dataclasses.replace(camera.stage, number=number).sees("it fails", Agent="failed")
    camera.settle()
    camera.inbox(height=700)
    camera.live()
    camera.page.locator("summary", has_text="Show").first.click()
    camera.whole("breaker")


def _shown(camera: Camera, path: str, text: str) -> str | None:
    camera.visit(path)
    return text if camera.page.get_by_text(text).count() else None


def _crash(camera: Camera) -> None:
    """Every process that serves runs is killed while an agent works."""
    camera.visit("/health")
    rows = camera.page.locator("tr", has=camera.page.locator("td", has_text="runs-")).all()
    assert rows
    for row in rows:
        os.kill(int(row.locator("td").nth(2).inner_text()), signal.SIGKILL)
    camera.visit_run(CARTS)
    camera.page.get_by_text("resumed: reclaimed").first.wait_for(timeout=LIMIT_MS)
    camera.page.get_by_text("got a worker").nth(1).wait_for(timeout=LIMIT_MS, state="attached")
    camera.page.locator("h1 ~ *").get_by_text("working", exact=True).wait_for(timeout=LIMIT_MS)
    camera.whole("crash")


# Taken before this step of the story is played; the last one after all of them.
WHEN: Mapping[str, Callable[[Camera], None]] = {
    "dragged to In Progress: queued, and says why": _brief_and_drag,
    "redirected once": _plan,
    "answered by a plain reply": _question,
    "dragged to Review": _report,
    "changes requested in two threads": _in_review,
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
        settings = {"CARDINAL_SCENARIOS": str(_scenarios(root)), "CARDINAL_CHECKPOINT_S": "2"}
        with launch.running(root, settings=settings) as scene:
            assert scene.store is not None
            camera = Camera(page, Stage(scene.team), scene.store, scene.cardinal_url, folder, check)

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
    before, pause, after = carts.read_text().rpartition("- sleep: ")
    carts.write_text(f"{before}{pause}3600{after.removeprefix('1.5')}")
    shutil.copytree(SCENARIOS, folder, dirs_exist_ok=True)
    shop = folder / "shop.yml"
    cards = "".join(f'  - {{title: "^{title}", scenario: {name}}}\n' for title, name in STAGED_CARDS.items())
    shop.write_text(shop.read_text().replace("cards:\n", f"cards:\n{cards}", 1))
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
