"""Cardinal's pages with a public address."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bot.flows.opening import opened
from tests.bot.web.pages.world import PUBLIC, Pages


@pytest.fixture
def pages(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Pages]:
    """Return the pages of a Cardinal, after the scene that a test is marked with."""
    scene = request.node.get_closest_marker("after")
    with opened(tmp_path, public_url=PUBLIC, after=scene.kwargs["scene"] if scene else None) as cardinal:
        yield Pages.over(cardinal)
