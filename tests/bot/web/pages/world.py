"""Cardinal's pages over a real ledger, a forge to sign in at, and people's browsers without a screen."""

import re
from dataclasses import dataclass, field
from html import unescape
from urllib.parse import urlsplit

import requests
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from bot.runspec.host_paths import make_host_paths
from bot.web.app import make_app
from ledger.events.artifact import ArtifactKept
from ledger.ids import RunId
from ledger.log import event_store
from runner.artifacts.store import Store, store_of
from tests.bot.flows.cardinal import Cardinal

PUBLIC = "https://cardinal.example.com"
WAIT_S = 60
FIELD = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')


@dataclass
class Browser:
    """One person's browser: its cookies here, and who it is on the forge."""

    app: Flask
    forge_url: str
    login: str
    public: str = PUBLIC
    here: FlaskClient = field(init=False)
    there: requests.Session = field(default_factory=requests.Session)

    def __post_init__(self) -> None:
        self.here = self.app.test_client()
        self.there.cookies.set("forge_person", self.login)

    def get(self, path: str, method: str = "GET", **headers: str) -> TestResponse:
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        answer = self.here.open(path, method=method, base_url=self.public, headers=named, buffered=True)
        assert b"&lt;time" not in answer.data, f"{path} shows the markup of a time"
        return answer

    def begins(self, path: str = "/") -> str:
        """Press "Sign in with GitHub" on a page; return the address on GitHub."""
        answer = self.get(f"/sign-in?next={path}")
        assert answer.status_code == 302
        return answer.headers["Location"]

    def agrees(self, address: str, *, agreed: bool = True) -> str:
        """Press a button on GitHub's page; return the path where it sends the browser back to."""
        page = self.there.get(address, timeout=WAIT_S)
        assert page.status_code == 200, page.text
        form = {name: unescape(text) for name, text in FIELD.findall(page.text)}
        form |= {"agreed": "1" if agreed else "0"}
        where = f"{self.forge_url}/login/oauth/authorize"
        answer = self.there.post(where, data=form, timeout=WAIT_S, allow_redirects=False)
        assert answer.status_code == 302, answer.text
        back = answer.headers["Location"]
        assert back.startswith(f"{self.public}/sign-in/back?")
        return back.removeprefix(self.public)

    def signs_in(self, path: str = "/") -> TestResponse:
        """Go the whole way; return the answer to what GitHub sent back."""
        return self.get(self.agrees(self.begins(path)))

    def follows(self, address: str) -> TestResponse:
        """Click a link of Cardinal's on GitHub."""
        assert address.startswith(f"{self.public}/"), address
        parts = urlsplit(address)
        return self.get(parts.path)


@dataclass
class Pages:
    """A Cardinal with pages, and what a run of it left."""

    cardinal: Cardinal
    app: Flask

    @classmethod
    def over(cls, cardinal: Cardinal) -> "Pages":
        services = cardinal.services
        return cls(cardinal, make_app(services.config, services.engine, cardinal.clock))

    def browser(self, login: str, *, signed_in: bool = True) -> Browser:
        made = Browser(self.app, self.cardinal.forge.url, login, self.cardinal.services.config.public_url)
        if signed_in:
            assert made.signs_in().status_code == 303
        return made

    def run(self) -> RunId:
        """Return a run that lives, on a card of its own."""
        item = self.cardinal.new(column="In Progress")
        self.cardinal.catch_up(publish=False)
        self.cardinal.forge.gateway.calls.clear()  # who dragged it was asked about
        return self.cardinal.run_of(item).run_id

    @property
    def store(self) -> Store:
        return store_of(make_host_paths(self.cardinal.services.config))

    def keep(self, run_id: RunId, name: str, kind: str, text: str = "3 tests passed\n") -> str:
        """Let the run keep a text; return its digest."""
        stored = self.store.keep(text)
        with event_store.writing(self.cardinal.services.engine) as db:
            told = ArtifactKept(run_id, name, kind, stored.digest, stored.size_bytes)
            event_store.append(db, told, at=self.cardinal.clock())
        return stored.digest

    def asked(self) -> int:
        """Return how often GitHub was asked what somebody may."""
        return len(self.cardinal.calls("/permission"))
