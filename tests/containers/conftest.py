"""What the suites on a real Docker engine share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import docker
from runner.workspaces.contract import Workspace
from tests.containers.engine import Bench, need_engine, places_in


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Return a state folder with nothing in it; what the test leaves on the engine is removed."""
    address = need_engine()
    tmp_path.chmod(0o755)
    api = docker.APIClient(base_url=address, timeout=60)
    new_bench = Bench(places_in(tmp_path), api)
    yield new_bench
    new_bench.clear()
    api.close()


@pytest.fixture
def room(bench: Bench) -> Iterator[Workspace]:
    """Return an empty workspace with small limits."""
    opened = bench.open()
    yield opened
    opened.destroy()
