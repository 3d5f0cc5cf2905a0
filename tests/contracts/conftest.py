"""What the contract suite shares: a card, an agent, and an engine without which nothing is proven."""

import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import docker
from runner.workspaces.backends.docker import home_of
from tests.containers.engine import need_engine
from tests.contracts.stand import AGENTS, IN_OWN_IMAGE, Stand
from tests.runner.world import make_world


@pytest.fixture(params=[*AGENTS, *(pytest.param(name, marks=pytest.mark.soak) for name in IN_OWN_IMAGE)])
def agent(request: pytest.FixtureRequest) -> str:
    """Return each real agent in turn."""
    return str(request.param)


@cache
def _build_image(agent: str) -> None:
    """Build the image with its program, unless it is up to date."""
    cardinal = (sys.executable, "-m", "bot.cli", "agents", "--build", agent)
    subprocess.run(cardinal, timeout=1800, check=True)


@pytest.fixture
def stand(agent: str, tmp_path: Path) -> Iterator[Stand]:
    """Return a card of that agent in a repository with one commit; nothing of it is left on the engine."""
    address = need_engine()
    if agent in IN_OWN_IMAGE:
        _build_image(agent)
    tmp_path.chmod(0o755)
    world = make_world(tmp_path, files={"README.md": "# Shop\n"})
    new_stand = Stand(world, agent, tmp_path)
    yield new_stand
    new_stand.stop()
    world.engine.dispose()
    api = docker.APIClient(base_url=address, timeout=60)
    left = api.containers(all=True, filters={"label": [f"cardinal.home={home_of(world.places.workspaces)}"]})
    for one in left:
        api.remove_container(one["Id"], force=True, v=True)
    api.close()
    assert left == []
