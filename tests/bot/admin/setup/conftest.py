"""A forge without any App, an organisation with a board, and `cardinal init` in a process of its own."""

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue
from threading import Thread
from urllib.parse import urljoin

import pytest
import requests
from click.testing import CliRunner

from bot.cli import main
from bot.system import env_file
from forge.store.board import Option, Project
from forge.store.models import Role, User
from forge.store.registration import App
from forge.web.server import Forge
from tests.warm import Warm, cardinal

WAIT_S = 60
PAGE = re.compile(r"open (http://127\.0\.0\.1:[0-9]+/[\w-]{20,}) in a browser")


@dataclass
class Running:
    """A `cardinal init` that runs; `said` are its lines so far."""

    process: Warm
    lines: "Queue[str | None]" = field(default_factory=Queue)
    said: list[str] = field(default_factory=list)
    known: str = ""

    def __post_init__(self) -> None:
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for one in self.process.stdout:
            self.lines.put(one.rstrip())
        self.lines.put(None)

    def until(self, words: str) -> str:
        """Return the next line with these words; an ending without it fails."""
        while (one := self.lines.get(timeout=WAIT_S)) is not None:
            self.said.append(one)
            if words in one:
                return one
        raise AssertionError(f"{words!r} was never said: {self.said}")

    def end(self) -> tuple[int, str]:
        """Return the exit code and everything that was said."""
        while (one := self.lines.get(timeout=WAIT_S)) is not None:
            self.said.append(one)
        return self.process.wait(WAIT_S), "\n".join(self.said)

    @property
    def page(self) -> str:
        """The address of its page."""
        match = PAGE.search(self.until("in a browser"))
        assert match
        self.known = match[1]
        return match[1]

    def beside(self, path: str) -> str:
        """The address of another page of the same server; its first one must be known."""
        return urljoin(self.known, path)

    def kill(self) -> None:
        self.process.kill()
        self.end()


@dataclass
class Town:
    """What a test acts on."""

    forge: Forge
    root: Path
    alice: User
    acme: User
    board: Project
    running: list[Running] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.root / ".cardinal"

    @property
    def api(self) -> str:
        """The root of the forge's API."""
        return f"{self.forge.url}/api/v3" if self.forge.store.settings.server_version else self.forge.url

    @property
    def settings(self) -> dict[str, str]:
        """What the env file says."""
        return env_file.parse_env((self.home / "env").read_text(encoding="utf-8"))

    @property
    def app(self) -> App:
        (app,) = self.forge.store.apps.all()
        return app

    def init(self, *options: str, **environ: str) -> Running:
        """Start `cardinal init` with these options."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("CARDINAL_")}
        env = {**clean, "CARDINAL_GITHUB_URL": self.api, **environ}
        self.running.append(Running(Warm(cardinal, "init", *options, cwd=self.root, env=env)))
        return self.running[-1]

    def ends(self, *options: str, **environ: str) -> tuple[int, str]:
        """Return the exit code and the words of a `cardinal init` that waits for nobody, in this process."""
        return self.does("init", *options, **environ)

    def does(self, *words: str, **environ: str) -> tuple[int, str]:
        """Return the exit code and the words of a command in this process."""
        cleared = dict.fromkeys(name for name in os.environ if name.startswith("CARDINAL_"))
        given = {"CARDINAL_GITHUB_URL": self.api, **environ}
        with contextlib.chdir(self.root):
            found = CliRunner().invoke(main, words, env={**cleared, **given})
        assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
        return found.exit_code, found.output

    def agree(self, page: str) -> str:
        """Do in the browser's place what leads to the App, and return where GitHub sends people back to."""
        person = requests.Session()
        text = person.get(page, timeout=WAIT_S).text
        action, manifest = _attribute(text, 'form action="'), _attribute(text, 'name="manifest" value="')
        asked = person.post(action, data={"manifest": manifest}, timeout=WAIT_S)
        assert asked.status_code == 200, asked.text
        given = {
            "token": _attribute(asked.text, 'name="forge-token" content="'),
            "manifest": manifest,
            "state": _attribute(asked.text, 'name="state" value="'),
        }
        where = asked.url.split("/apps/new")[0] + "/apps"
        answer = person.post(where, data=given, timeout=WAIT_S, allow_redirects=False)
        assert answer.status_code == 302, answer.text
        return answer.headers["Location"]

    def install(self) -> None:
        self.forge.store.apps.install(self.app, self.acme, actor=self.alice)

    def fields(self) -> list[str]:
        return [one.name for one in self.board.fields]

    def columns(self) -> dict[str, str]:
        return {option.name: option.description for option in self.board.status.options}

    def make_columns(self, *names: str) -> None:
        """Give the board these columns in place of its own."""
        options = [Option("", name, "GRAY", "") for name in names]
        self.forge.store.projects.update_field(self.board.status, options=options)

    def writes(self) -> list[str]:
        """Return the calls so far that change something on the board."""
        return [call.operation for call in self.forge.gateway.calls if call.operation.startswith("mutation")]


def _attribute(page: str, before: str) -> str:
    from html import unescape

    match = re.search(re.escape(before) + r'([^"]*)"', page)
    assert match, f"{before} is not in {page}"
    return unescape(match[1])


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    forge = Forge(tmp_path / "forge").start()
    store = forge.store
    alice = store.users.add("alice")
    acme = store.users.add_organization("acme", [alice])
    shop = store.repos.create(acme, "shop")
    store.repos.set_role(shop, alice, Role.ADMIN)
    board = store.projects.create(acme, "Shop board", actor=alice)
    root = tmp_path / "work"
    root.mkdir()
    found_town = Town(forge, root, alice, acme, board)
    yield found_town
    for running in found_town.running:
        if running.process.poll() is None:
            running.process.kill()
        running.process.wait(WAIT_S)
        running.process.close()
    forge.stop()
