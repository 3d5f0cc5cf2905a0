"""A real forge with the demo's world, and a real Chromium looking at it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, ViewportSize, expect

from docs._make.pictures import chromium
from tests.browser.world import Town
from tests.kept import demo

DESK: ViewportSize = {"width": 1400, "height": 900}
WAIT_MS = 60_000


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Return a Chromium with an empty profile."""
    expect.set_options(timeout=WAIT_MS)
    with chromium() as running:
        yield running


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    """Return a served forge with the demo's world; its webhooks go to a port where nobody listens."""
    forge, world = demo(tmp_path, "http://127.0.0.1:9/")
    forge.start()
    yield Town(forge, world)
    forge.stop()


def _fault(message: ConsoleMessage) -> str:
    return f"{message.text} {message.location['url']}"


@contextmanager
def looking(browser: Browser, *, scripts: bool = True) -> Iterator[Page]:
    """Give an empty page of somebody's own, with their cookies; an error in it fails the test."""
    context = browser.new_context(viewport=DESK, java_script_enabled=scripts)
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()
    faults: list[str] = []

    def refuse(dialog: Dialog) -> None:
        faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(_fault(message)) if message.type == "error" else None)
    page.on("dialog", refuse)
    yield page
    context.close()
    # A test may ask for what is refused, and cut the page off.
    expected = ("the server responded with a status of 4", "net::ERR_FAILED")
    assert [fault for fault in faults if not any(one in fault for one in expected)] == []


@pytest.fixture
def page(browser: Browser, town: Town) -> Iterator[Page]:
    """Return an empty page, closed before the forge stops."""
    with looking(browser) as page:
        yield page
