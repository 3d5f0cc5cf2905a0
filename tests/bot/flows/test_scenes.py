"""A test that goes on after a scene, however long ago that was played."""

import pickle
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests import kept
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.opening import opened
from tests.kept import MAX_AGE_S, Kept


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


def test_what_one_process_of_a_run_has_kept_the_others_copy_until_it_is_too_old(tmp_path: Path) -> None:
    states = iter((b"first", b"second"))

    def keep() -> bytes:
        return kept._make_once(tmp_path, "it", lambda: Kept(next(states), [], [])).state

    assert [keep(), keep()] == [b"first", b"first"]
    (file,) = tmp_path.iterdir()
    old = pickle.loads(file.read_bytes())
    old._kept_at -= MAX_AGE_S
    file.write_bytes(pickle.dumps(old))
    assert [keep(), keep()] == [b"second", b"second"]
