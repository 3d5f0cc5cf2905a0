"""Both sides, each for the whole session; every test has repositories of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.github.client import Hub
from tests.peer.beside import Cardinal, open_beside
from tests.peer.emulator import emulating
from tests.peer.ours import forging
from tests.peer.relay import relaying
from tests.peer.side import Side


@pytest.fixture(scope="session")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Side]:
    with relaying(renames=True) as relay, emulating(tmp_path_factory.mktemp("peer"), relay) as side:
        _let_the_app_write(side)
        yield side


@pytest.fixture(scope="session")
def forge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Side]:
    with relaying(renames=False) as relay, forging(tmp_path_factory.mktemp("forge"), relay) as side:
        yield side


def _let_the_app_write(side: Side) -> None:
    """Let the App write once: the peer makes its bot's account only then. See `divergences`."""
    asked = {"title": "The App's first word"}
    assert side.ask("POST", f"/repos/{side.repository()}/issues", asked, token=side.token()).status == 201


@pytest.fixture(params=["forge", "emulate"])
def side(request: pytest.FixtureRequest) -> Side:
    """Return each side in turn: what a test says of it must hold for both."""
    found_side: Side = request.getfixturevalue("peer" if request.param == "emulate" else "forge")
    return found_side


@pytest.fixture
def repository(side: Side) -> str:
    """Return a repository of the side."""
    return side.repository()


@pytest.fixture
def hub(side: Side, tmp_path: Path) -> Hub:
    """Return Cardinal's own client, connected to the side."""
    return side.hub(tmp_path)


@pytest.fixture
def cardinal(side: Side, tmp_path: Path) -> Iterator[Cardinal]:
    """Return a Cardinal that knows one card in progress, and gets what the side's webhook sends."""
    with open_beside(side, tmp_path) as found_cardinal:
        yield found_cardinal
