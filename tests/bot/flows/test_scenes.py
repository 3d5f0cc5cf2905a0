"""A test that goes on after a scene, however long ago that was played."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests import kept
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.opening import opened


def test_the_clocks_of_both_sides_go_on_from_when_the_scene_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Cardinal.at_work
    with opened(tmp_path / "first", after=scene):
        pass
    long_ago = datetime.now(UTC) - timedelta(minutes=10)
    monkeypatch.setitem(kept._kept[f"{scene.__module__} {scene.__qualname__} "].notes, "instant", long_ago)
    with opened(tmp_path / "later", after=scene) as cardinal:
        instants = cardinal.clock(), cardinal.forge.store.clock.now()
    assert all(long_ago < instant < long_ago + timedelta(minutes=5) for instant in instants)
