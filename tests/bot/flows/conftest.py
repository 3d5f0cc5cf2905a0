"""A Cardinal in this process, against a forge of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.opening import opened


@pytest.fixture
def cardinal(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, request: pytest.FixtureRequest
) -> Iterator[Cardinal]:
    """Return a Cardinal, after the scene that a test is marked with."""
    scene = request.node.get_closest_marker("after")
    with opened(tmp_path, after=scene.kwargs["scene"] if scene else None) as found_cardinal:
        yield found_cardinal
    failed = [one.getMessage() for one in caplog.get_records("call") if one.msg.startswith("rules failed")]
    assert failed == [], "the rules failed on an event; a test that wants that clears the log"
