"""A hub whose GitHub answers what a test says, at a time that a test says."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import responses
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from bot.github.client import Hub
from bot.system.config import Config, read
from forge.web.server import Forge
from tests.bot.github.world import World, build

API = "https://api.github.com:443"  # PyGithub names the port
STARTED = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Clock:
    """A clock that stands still until a test moves it."""

    def __init__(self, now: datetime = STARTED) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class Scripted:
    """GitHub's answers as a test scripts them; what is asked beyond the script fails the test."""

    def __init__(self, mock: responses.RequestsMock, clock: Clock) -> None:
        self.mock, self.clock = mock, clock

    def answer(self, method: str, path: str, body: Any = None, **more: Any) -> responses.BaseResponse:
        return self.mock.add(method, API + path, json=body, **more)

    def tokens(self, times: int = 1, lasting_s: float = 3600) -> None:
        """Let the installation be found and give `times` tokens: token1, token2 …"""
        self.answer("GET", "/orgs/acme/installation", {"id": 7})
        for n in range(1, times + 1):
            expires = (self.clock() + timedelta(seconds=lasting_s)).strftime("%Y-%m-%dT%H:%M:%SZ")
            given = {"token": f"token{n}", "expires_at": expires}
            self.answer("POST", "/app/installations/7/access_tokens", given, status=201)

    def asked(self, path: str) -> list[Any]:
        """Return the requests for `path`, oldest first, whatever their query."""
        return [
            call.request
            for call in self.mock.calls
            if re.sub(r"\?.*", "", call.request.url or "") == API + path
        ]


@pytest.fixture(scope="session")
def private_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def config(tmp_path: Path, private_key: str) -> Config:
    given = {"APP_ID": "12", "PRIVATE_KEY": private_key, "WEBHOOK_SECRET": "s", "BOARD": "acme/1"}
    return read({f"CARDINAL_{name}": value for name, value in given.items()}, tmp_path)


@pytest.fixture
def scripted(clock: Clock) -> Iterator[Scripted]:
    with responses.RequestsMock(assert_all_requests_are_fired=True) as mock:
        yield Scripted(mock, clock)


@pytest.fixture
def hub(config: Config, clock: Clock) -> Hub:
    return Hub(config, clock)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    forge = Forge(tmp_path / "forge").start()
    try:
        yield build(forge, tmp_path / "home")
    finally:
        forge.stop()
