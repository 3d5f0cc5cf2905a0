"""A reviewer in a real browser: from the check on a pull request, by a sign-in, to the whole log."""

import hashlib
import socket
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Page, expect
from werkzeug.serving import WSGIRequestHandler, make_server

from bot.runspec.host_paths import make_host_paths
from bot.web.app import make_app
from ledger.events.artifact import ArtifactKept
from ledger.ids import RunId
from ledger.log import event_store
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.opening import opened

WORK = [
    {"edit": {"path": "shop/greeting.py", "content": '"""Say hello."""\n'}},
    {"attach": {"name": "look.html", "content": "<script>document.title = 'owned'</script>\n"}},
    {"commit": "Say hello"},
    {"finish": {"done": "It says hello."}},
]
SIDE = 3


class Quiet(WSGIRequestHandler):
    def log(self, type: str, message: str, *args: object) -> None:
        """Write nothing."""


@dataclass
class Served:
    """A Cardinal whose pages are served."""

    cardinal: Cardinal
    url: str

    def picture(self, run_id: RunId) -> None:
        """Let the run keep a screenshot."""
        raw = picture()
        digest = hashlib.sha256(raw).hexdigest()
        file = make_host_paths(self.cardinal.services.config).artifacts / digest[:2] / digest
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(raw)
        with event_store.writing(self.cardinal.services.engine) as db:
            event = ArtifactKept(run_id, "start", "screenshot", digest, len(raw))
            event_store.append(db, event, at=self.cardinal.clock())


def picture() -> bytes:
    """Return a small PNG."""
    rows = b"".join(b"\0" + b"\xff\0\0" * SIDE for _ in range(SIDE))
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    chunks = (
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Served]:
    """Instead of the demo's world alone: a Cardinal beside it, with an address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = int(listener.getsockname()[1])
        url = f"http://127.0.0.1:{port}"
        with opened(tmp_path, public_url=url) as cardinal:
            services = cardinal.services
            app = make_app(services.config, services.engine, cardinal.clock)
            server = make_server(
                "127.0.0.1", port, app, threaded=True, request_handler=Quiet, fd=listener.fileno()
            )
            serving = Thread(target=server.serve_forever, args=(0.1,), daemon=True)
            serving.start()
            yield Served(cardinal, url)
            server.shutdown()
            serving.join(60)
            server.server_close()


def test_a_reviewer_reads_the_log_behind_a_check(page: Page, town: Served) -> None:
    cardinal = town.cardinal
    cardinal.scenario(work=WORK)
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    town.picture(cardinal.run_of(item).run_id)
    page.context.add_cookies([{"name": "forge_person", "value": "bob", "url": cardinal.forge.url}])
    page.goto(f"{cardinal.forge.url}/acme/shop/pull/{cardinal.pull_of(item).number}")
    page.get_by_role("link", name="Details").click()
    expect(page.get_by_role("heading")).to_have_text("Sign in")
    page.get_by_role("link", name="Sign in with GitHub").click()
    page.get_by_role("button", name="Sign in as bob").click()
    assert page.url == f"{town.url}/runs/r1"
    page.get_by_role("link", name="files").click()
    expect(page.get_by_role("heading")).to_have_text("Files of run r1")
    assert page.url == f"{town.url}/runs/r1/artifacts"
    expect(page.get_by_text("Signed in as bob")).to_be_visible()
    with page.expect_download() as saved:  # a page of the agent's is no page of Cardinal's
        page.get_by_role("link", name="look.html").click()
    assert saved.value.suggested_filename == "look.html"
    page.get_by_role("link", name="start").click()
    expect(page.locator("img")).to_have_js_property("naturalWidth", SIDE)
    page.go_back()
    page.get_by_role("link", name="python3 -m unittest").first.click()
    expect(page.locator("pre")).to_contain_text("OK")
    page.go_back()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("link", name="Sign in with GitHub")).to_be_visible()
