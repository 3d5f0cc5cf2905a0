"""Artifacts are kept so long and so many; what a live run has, and what somebody else still has, stays."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.runspec.host_paths import make_host_paths
from bot.scheduler import cleanup
from ledger.events.artifact import ArtifactDropped, ArtifactKept
from ledger.events.workspace import Checkpointed
from ledger.ids import RunId
from ledger.log import event_store
from ledger.queue import leases
from ledger.views import artifacts
from runner.artifacts.backend import StoreError
from runner.artifacts.store import Store, store_of
from tests.bot.flows.cardinal import Cardinal

DAY_S = 86_400


def store_in(cardinal: Cardinal) -> Store:
    return store_of(make_host_paths(cardinal.services.config))


def kept(cardinal: Cardinal, run_id: RunId, text: str) -> str:
    """Let a run keep a text, long ago by the disk's clock; return its digest."""
    stored = store_in(cardinal).keep(text)
    with event_store.writing(cardinal.services.engine) as db:
        event = ArtifactKept(run_id, f"{text[:5]}.log", "log", stored.digest, stored.size_bytes)
        event_store.append(db, event, at=cardinal.clock())
    aged(cardinal, stored.digest)
    return stored.digest


def aged(cardinal: Cardinal, digest: str) -> None:
    paths = make_host_paths(cardinal.services.config)
    file = Path(paths.store.address or paths.artifacts) / digest[:2] / digest
    then = time.time() - 3 * DAY_S
    os.utime(file, (then, then))


def begun(cardinal: Cardinal) -> RunId:
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    run_id = cardinal.run_of(item).run_id
    cardinal.begin(run_id)
    return run_id


def dropped(cardinal: Cardinal, run_id: RunId) -> list[str]:
    with event_store.reading(cardinal.services.engine) as db:
        return [artifact.dropped for artifact in artifacts.of_run(db, run_id)]


def test_a_file_that_a_checkpoint_needs_stays_when_its_artifact_goes(cardinal: Cardinal) -> None:
    over, other = begun(cardinal), begun(cardinal)
    patch = kept(cardinal, over, "patch")
    cardinal.finish(over, files={"a.txt": b"1\n"})
    cardinal.clock.forward(cardinal.services.config.artifact_days * DAY_S + 60)
    event = Checkpointed(other, "p", 1, "h", "a" * 40, "a" * 40, patch=patch)
    with event_store.writing(cardinal.services.engine) as db:
        event_store.append(db, event, at=cardinal.clock())
    cleanup.drop_artifacts(cardinal.services)
    assert (store_in(cardinal).read(patch), "age" in dropped(cardinal, over)) == (b"patch", True)


def test_what_is_too_old_goes_and_what_a_live_run_or_a_newer_one_has_stays(cardinal: Cardinal) -> None:
    live, over, newer = begun(cardinal), begun(cardinal), begun(cardinal)
    first, shared, lives = (
        kept(cardinal, over, "first"),
        kept(cardinal, over, "shared"),
        kept(cardinal, live, "l"),
    )
    cardinal.finish(over, files={"a.txt": b"1\n"})
    cardinal.finish(newer)
    cardinal.clock.forward(cardinal.services.config.artifact_days * DAY_S + 60)
    kept(cardinal, newer, "shared")
    assert any("(age)" in said for said in cleanup.drop_artifacts(cardinal.services))
    store = store_in(cardinal)
    assert (store.read(first), dropped(cardinal, over)) == (None, ["age", "age"])
    assert store.read(shared) == b"shared"
    assert (store.read(lives), dropped(cardinal, live)) == (b"l", [""])
    assert cleanup.drop_artifacts(cardinal.services) == ()


def test_nothing_counts_as_dropped_while_the_folder_of_all_hosts_is_not_mounted(
    cardinal: Cardinal, tmp_path: Path
) -> None:
    root, mounted = tmp_path / "shared", tmp_path / "mounted"
    cardinal.configure(store=str(root))
    cleanup.drop_artifacts(cardinal.services)  # the first use
    over = begun(cardinal)
    digest = kept(cardinal, over, "first")
    cardinal.finish(over)
    cardinal.clock.forward(cardinal.services.config.artifact_days * DAY_S + 60)
    root.rename(mounted)
    root.mkdir()
    with pytest.raises(StoreError, match="mount the store there again"):
        cleanup.drop_artifacts(cardinal.services)
    assert set(dropped(cardinal, over)) == {""}
    assert list(root.iterdir()) == []
    root.rmdir()
    mounted.rename(root)
    cleanup.drop_artifacts(cardinal.services)
    assert (set(dropped(cardinal, over)), store_in(cardinal).read(digest)) == ({"age"}, None)


def test_over_the_space_the_oldest_go_first(cardinal: Cardinal) -> None:
    over = begun(cardinal)
    digests = [kept(cardinal, over, letter * 400_000) for letter in "abcd"]
    cardinal.finish(over)
    cardinal.configure(artifact_mb=1)
    cleanup.drop_artifacts(cardinal.services)
    assert dropped(cardinal, over) == ["space", "space", "", ""]
    assert [store_in(cardinal).read(digest) is not None for digest in digests] == [False, False, True, True]
    assert [event.reason for event in cardinal.events(ArtifactDropped)] == ["space", "space"]


def test_a_file_that_somebody_writes_just_now_is_not_removed(cardinal: Cardinal) -> None:
    over = begun(cardinal)
    digest = kept(cardinal, over, "again")
    cardinal.finish(over)
    cardinal.clock.forward(cardinal.services.config.artifact_days * DAY_S + 60)
    store_in(cardinal).keep("again")  # by a run that tells of it in a moment
    cleanup.drop_artifacts(cardinal.services)
    assert store_in(cardinal).read(digest) == b"again"


def test_files_of_no_run_go_after_a_day(cardinal: Cardinal) -> None:
    store = store_in(cardinal)
    old, new = store.keep("killed before it told"), store.keep("just now")
    aged(cardinal, old.digest)
    assert cleanup.drop_artifacts(cardinal.services) == ("1 files of no run",)
    assert (store.read(old.digest), store.read(new.digest)) == (None, b"just now")


def test_of_all_hosts_the_holder_of_the_lease_removes(cardinal: Cardinal) -> None:
    store = store_in(cardinal)
    digest = store.keep("nobody's").digest
    aged(cardinal, digest)
    services = cardinal.services
    name = f"retention:{services.host}"
    with event_store.writing(services.engine) as db:
        lease = leases.take(db, name, "another", ttl_s=60)
    assert lease is not None
    assert (cleanup.drop_artifacts(services), store.read(digest)) == ((), b"nobody's")
    with event_store.writing(services.engine) as db:
        leases.release(db, lease)
    cleanup.drop_artifacts(services)
    assert store.read(digest) is None


def others_take(cardinal: Cardinal, after_s: float) -> list[bool]:
    """Let the time go by; return whether another process then gets the claims of the clean-up."""
    cardinal.clock.forward(after_s)
    names = (f"retention:{cardinal.services.host}", f"tidy:{cardinal.services.host}")
    with event_store.writing(cardinal.services.engine) as db:
        ttl_s = cleanup.LEASE_S
        return [leases.take(db, name, "another", ttl_s=ttl_s) is not None for name in names]


@pytest.mark.parametrize(("takes_s", "removed"), [(400, 3), (601, 1)])
@pytest.mark.parametrize("has_row", [True, False])
def test_a_long_removal_keeps_both_claims_while_each_file_is_short_and_else_it_stops(
    cardinal: Cardinal, monkeypatch: pytest.MonkeyPatch, takes_s: float, removed: int, has_row: bool
) -> None:
    remove, others = Store.remove, list[bool]()

    def slow(store: Store, digest: str) -> None:
        remove(store, digest)
        others.extend(others_take(cardinal, takes_s))

    over = begun(cardinal)
    for text in ("first", "second", "third"):
        if has_row:
            kept(cardinal, over, text)
        else:
            aged(cardinal, store_in(cardinal).keep(text).digest)
    cardinal.finish(over)
    cardinal.clock.forward(cardinal.services.config.artifact_days * DAY_S + 60)
    monkeypatch.setattr(Store, "remove", slow)
    cleanup.clean_up(cardinal.services)
    assert others == [takes_s > cleanup.LEASE_S] * 2 * removed


def test_so_does_a_long_walk_over_files_that_stay(
    cardinal: Cardinal, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk, others = Store.older_than, list[bool]()

    def slow(store: Store, age_s: float) -> Iterator[str]:
        for name in walk(store, age_s):
            yield name
            others.extend(others_take(cardinal, 400))

    over = begun(cardinal)
    for text in ("first", "second", "third"):
        kept(cardinal, over, text)
    monkeypatch.setattr(cleanup, "WALK", 1)
    monkeypatch.setattr(Store, "older_than", slow)
    cleanup.clean_up(cardinal.services)
    assert others == [False] * 6
