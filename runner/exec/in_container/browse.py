"""Plays a card's steps in a browser against the repository's own app, and leaves recordings in `out/`.

    python browse.py OUT < plan.json

Runs in the container of a reproduction, with Playwright from its image and the app beside it. Every finished
step is reported at once as one line of JSON on stdout, so that a killed program shows how far it came. Every
line has a key out of the plan, since the app can write there as well.
"""

import contextlib
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, build_opener

from playwright.sync_api import (
    Browser,
    BrowserContext,
    Dialog,
    Error,
    Locator,
    Page,
    Request,
    TimeoutError,
    ViewportSize,
    sync_playwright,
)

ARGUMENTS = (
    "--no-sandbox",  # its own needs user namespaces; the container is the sandbox
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-breakpad",
    "--proxy-server=direct://",
)
CHROMIUM = "/usr/bin/chromium"
STEP_S, WAIT_S, OPEN_S = 10.0, 30.0, 30.0
SCREENSHOTS = 19  # of steps; the last ones stay, and one more of the end
_SCREENSHOT_S = 5.0
_CONSOLE_BYTES, _LINE_BYTES, _APP_BYTES = 500_000, 2_000, 500_000
_ERRORS = 10
_SIZE: ViewportSize = {"width": 1024, "height": 768}
_PR_SET_DUMPABLE = 4
_ROLES = ("button", "link", "tab", "menuitem", "checkbox", "radio", "option", "switch")


class StepError(Exception):
    """A step did not come true; the message names the expectation, in Cardinal's own words."""


class Console:
    """Console messages of the page, in one file of bounded size."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8", errors="replace")
        self._left, self._unsaid = _CONSOLE_BYTES, 0
        self.errors: deque[str] = deque(maxlen=_ERRORS)
        self.error_count = 0

    def watch(self, page: Page) -> None:
        """Listen to a page, and let no dialog hold it up."""
        page.on("console", lambda said: self.add(said.type, said.text))
        page.on("pageerror", lambda error: self.add("page error", str(error)))
        page.on("requestfailed", self._add_failed_request)
        page.on("dialog", self._accept)
        page.on("crash", lambda _: self.add("page error", "the page crashed"))

    def _accept(self, dialog: Dialog) -> None:
        self.add(f"{dialog.type}, accepted", dialog.message)
        dialog.accept()

    def _add_failed_request(self, request: Request) -> None:
        self.add("request failed", f"{request.method} {request.url}: {request.failure}")

    def add(self, kind: str, text: str) -> None:
        """Write one message, as a single short line."""
        line = f"[{kind}] {' '.join(text[:_LINE_BYTES].split())}"
        if kind in ("error", "page error", "request failed"):
            self.errors.append(line[:300])
            self.error_count += 1
        self._left -= len(line.encode("utf-8", "replace")) + 1
        if self._left < 0:
            self._unsaid += 1
        else:
            self._file.write(f"{line}\n")

    def close(self) -> None:
        """End the file with how much is not in it."""
        if self._unsaid:
            self._file.write(f"[{self._unsaid} more messages are left out]\n")
        self._file.close()


class Wire:
    """Output to the parent process. The app can write there too, but does not know the key."""

    def __init__(self, key: str) -> None:
        self._key = key

    def tell(self, **what: Any) -> None:
        sys.stdout.write(json.dumps({"key": self._key} | what) + "\n")
        sys.stdout.flush()


def guard() -> None:
    """Keep other processes of this user, such as the app, from this one's memory and output.

    A process that is not dumpable cannot be traced, nor its descriptors opened in /proc. Source: prctl(2).
    """
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "the kernel does not protect this process")


@contextlib.contextmanager
def serving(command: str, out: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the app, with the beginning of its output in `out/app.txt`; it is gone afterwards."""
    keep = f"head -c {_APP_BYTES} >{out}/app.txt; exec cat >/dev/null"
    log = subprocess.Popen(("/bin/sh", "-c", keep), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    app = subprocess.Popen(
        ("/bin/sh", "-c", command),
        stdin=subprocess.DEVNULL,
        stdout=log.stdin,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        yield app
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(app.pid, signal.SIGKILL)
        app.wait()
        if log.stdin is not None:
            log.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):  # something of the app's lives on and holds it
            log.wait(timeout=2)


class Staying(HTTPRedirectHandler):
    """Follows no redirect: that there is one is an answer."""

    def redirect_request(self, *_: Any) -> None:
        """Make no request of it; it becomes an HTTPError."""


def wait_ready(app: subprocess.Popen[bytes], address: str, until: float) -> str:
    """Return why the app does not answer at its address, or nothing; whatever it answers is an answer."""
    opener = build_opener(ProxyHandler({}), Staying())
    began = time.monotonic()
    while time.monotonic() < until:
        if app.poll() is not None:
            return f"the app ended with exit code {app.returncode} before it answered"
        try:
            with opener.open(address, timeout=2):
                return ""
        except HTTPError:
            return ""
        except (URLError, OSError, ValueError):
            with contextlib.suppress(subprocess.TimeoutExpired):
                app.wait(timeout=0.2)
    return f"the app did not answer at {address} within {time.monotonic() - began:.0f} s"


class BrowserPlayer:
    """Plays steps on one page; a step that does not come true raises StepError, or an Error of Playwright."""

    def __init__(self, page: Page, address: str, until: float) -> None:
        self.page, self._address, self._until = page, address, until

    def play(self, verb: str, first: str, second: str) -> None:
        """Play one step; its verb is one of those below."""
        getattr(self, f"_{verb}")(first, second)

    def left_ms(self, most_s: float) -> float:
        """Return the timeout of one more act; raises StepError when the time for all is over."""
        left_s = min(most_s, self._until - time.monotonic())
        if left_s <= 0:
            raise StepError("the time for the whole reproduction was over")
        return max(1.0, left_s * 1000)

    def _open(self, path: str, _: str) -> None:
        self.page.goto(urljoin(self._address, path), timeout=self.left_ms(OPEN_S), wait_until="load")

    def _click(self, name: str, _: str) -> None:
        self._find_named(name).click(timeout=self.left_ms(STEP_S))

    def _fill(self, name: str, text: str) -> None:
        self._field(name).fill(text, timeout=self.left_ms(STEP_S))

    def _choose(self, option: str, name: str) -> None:
        self._field(name).select_option(label=option, timeout=self.left_ms(STEP_S))

    def _check(self, name: str, _: str) -> None:
        self._field(name).check(timeout=self.left_ms(STEP_S))

    def _uncheck(self, name: str, _: str) -> None:
        self._field(name).uncheck(timeout=self.left_ms(STEP_S))

    def _press(self, key: str, _: str) -> None:
        # The focused element, else the body: `last`, since the focused one is inside the body.
        self.page.locator(":focus").or_(self.page.locator("body")).last.press(
            key, timeout=self.left_ms(STEP_S)
        )

    def _expect(self, text: str, _: str) -> None:
        self._await(self._find_text(text), "visible", STEP_S, "it was not seen")

    def _wait(self, text: str, _: str) -> None:
        self._await(self._find_text(text), "visible", WAIT_S, "it was not seen")

    def _expect_no(self, text: str, _: str) -> None:
        self.page.wait_for_load_state("load", timeout=self.left_ms(STEP_S))
        self._await(self._find_text(text), "hidden", STEP_S, "it is still to be seen")

    def _expect_address(self, path: str, _: str) -> None:
        wanted = urlsplit(urljoin(self._address, path))

        def there(url: str) -> bool:
            at = urlsplit(url)
            same = (at.netloc, at.path or "/") == (wanted.netloc, wanted.path or "/")
            return same and (not wanted.query or at.query == wanted.query)

        with contextlib.suppress(Error):
            self.page.wait_for_url(there, timeout=self.left_ms(STEP_S), wait_until="commit")
        if not there(self.page.url):
            raise StepError(f"the browser was elsewhere after {STEP_S:.0f} s")

    def _find_text(self, text: str) -> Locator:
        return self.page.get_by_text(text).filter(visible=True).first

    def _await(self, what: Locator, state: Any, most_s: float, otherwise: str) -> None:
        wait_ms = self.left_ms(most_s)
        try:
            what.wait_for(state=state, timeout=wait_ms)
        except Error as error:
            raise StepError(f"{otherwise} after {wait_ms / 1000:.0f} s") from error

    def _find_named(self, name: str) -> Locator:
        roles = [self.page.get_by_role(role, name=name, exact=True) for role in _ROLES]  # type: ignore[arg-type]
        loose = [self.page.get_by_role(role, name=name) for role in _ROLES]  # type: ignore[arg-type]
        return self._first(
            [*roles, self.page.get_by_text(name, exact=True), *loose, self.page.get_by_text(name)]
        )

    def _field(self, name: str) -> Locator:
        by: tuple[Callable[..., Locator], ...] = (self.page.get_by_label, self.page.get_by_placeholder)
        exact = [get(name, exact=True) for get in by]
        return self._first(
            [*exact, *(get(name) for get in by), self.page.locator(f"[name={json.dumps(name)}]")]
        )

    def _first(self, candidates: list[Locator]) -> Locator:
        """Return the best that is to be seen; every look is bounded, for a page may hang at any of them."""
        every = candidates[0]
        for candidate in candidates[1:]:
            every = every.or_(candidate)
        self._await(every.filter(visible=True).first, "visible", STEP_S, "nothing of that name was seen")
        for candidate in candidates:
            seen = candidate.filter(visible=True)
            # The page is always there, and before all that is in it: a busy browser has time to say which.
            last = seen.or_(self.page.locator("html")).last
            if not last.evaluate("it => it === document.documentElement", timeout=self.left_ms(STEP_S)):
                return seen.first
        raise StepError("what was seen went away again")


def play(plan: dict[str, Any], out: Path, until: float, wire: Wire) -> None:
    """Play all steps up to the first failure, and save the recordings."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=list(ARGUMENTS), chromium_sandbox=False, timeout=60_000
        )
        context = open_recorded(browser)
        context.tracing.start(screenshots=True, snapshots=True)
        console = Console(out / "console.txt")
        context.on("page", console.watch)
        page = context.new_page()
        try:
            play_steps(BrowserPlayer(page, plan["address"], until), plan["steps"], out, wire)
        finally:
            console.close()
            wire.tell(errors=list(console.errors), error_count=console.error_count)
            save(context, page, out)


def play_steps(player: BrowserPlayer, steps: list[list[str]], out: Path, wire: Wire) -> None:
    """Report each step with a picture, until one fails."""
    for number, (verb, first, second) in enumerate(steps, start=1):
        said, began = "", time.monotonic()
        try:
            player.play(verb, first, second)
        except StepError as problem:
            said = str(problem)
        except TimeoutError:
            said = f"it did not happen within {time.monotonic() - began:.0f} s"
        except Error as problem:
            said = plain(problem)
        wire.tell(step=number, said=said)
        picture(player.page, out / f"step-{number:02}.png")
        (out / f"step-{number - SCREENSHOTS:02}.png").unlink(missing_ok=True)
        if said:
            break
    picture(player.page, out / "final.png")


def plain(problem: Error) -> str:
    """Return the first line of Playwright's message, about the step; the rest quotes the page."""
    first = problem.message.strip().split("\n")[0]
    return re.sub(r"^(?:Error: )?[A-Za-z]+\.[a-z_A-Z]+: ", "", first)[:300] or "it did not work"


def picture(page: Page, path: Path) -> None:
    """Take a screenshot; a page that hangs has none."""
    with contextlib.suppress(Error):
        page.screenshot(path=path, timeout=_SCREENSHOT_S * 1000)


def open_recorded(browser: Browser) -> BrowserContext:
    return browser.new_context(
        viewport=_SIZE,
        record_video_dir="/tmp/video",  # noqa: S108 - the container's own
        record_video_size=_SIZE,
        accept_downloads=False,
        ignore_https_errors=True,
    )


def save(context: BrowserContext, page: Page, out: Path) -> None:
    """Save trace and video; one that cannot be saved is missing, and changes no result."""
    with contextlib.suppress(Error):
        context.tracing.stop(path=out / "trace.zip")
    with contextlib.suppress(Error):
        context.close()
        if page.video is not None:
            page.video.save_as(out / "video.webm")


def main() -> None:
    """Start the app, wait for it, and play; the last line says that all was done."""
    guard()
    out, plan = Path(sys.argv[1]), json.load(sys.stdin)
    until, wire = time.monotonic() + plan["limit_s"], Wire(plan["key"])
    with serving(plan["start"], out) as app:
        problem = wait_ready(app, plan["address"], min(until, time.monotonic() + plan["ready_s"]))
        wire.tell(ready=not problem, said=problem)
        if not problem:
            play(plan, out, until, wire)
    wire.tell(done=True)


if __name__ == "__main__":
    main()
