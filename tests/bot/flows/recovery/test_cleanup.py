"""What nobody works in any more is removed; what somebody works in stays."""

import fcntl
import os
import shutil
import time
from datetime import timedelta

import pytest

from bot.runspec.host_paths import make_host_paths
from bot.scheduler import cleanup
from ledger.events.workspace import FolderKept
from ledger.ids import CardId, RunId
from ledger.log import event_store
from ledger.queue import leases
from runner import workspaces
from runner.artifacts.store import store_of
from runner.errors import GitError
from runner.git import cleanup as leftovers
from runner.workspaces.contract import Leftover, Tenancy
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.settings import with_column
from tests.runner.world import git


def opened(cardinal: Cardinal, name: str) -> None:
    workspaces.load("local").open(make_host_paths(cardinal.services.config), Tenancy(CardId(name)))


def there(cardinal: Cardinal) -> set[str]:
    return {mark.read_text() for mark in make_host_paths(cardinal.services.config).workspaces.glob("*/card")}


def test_the_place_of_a_card_that_is_done_goes_and_that_of_one_at_work_stays(cardinal: Cardinal) -> None:
    works, done = cardinal.new(column="In Progress"), cardinal.new(column="In Progress")
    cardinal.catch_up()
    for item in (works, done):
        cardinal.begin(cardinal.run_of(item).run_id)
        opened(cardinal, item.node_id)
        opened(cardinal, f"gate-{item.node_id}")
        opened(cardinal, f"repro-{item.node_id}")
    cardinal.finish(cardinal.run_of(done).run_id, files={"a.txt": b"1\n"})
    cardinal.catch_up()
    cleanup.clean_up(cardinal.services)
    clean = {f"gate-{works.node_id}", f"repro-{works.node_id}"}
    assert there(cardinal) == {works.node_id, *clean, done.node_id}
    bob = cardinal.person("bob")
    cardinal.forge.store.reviews.submit(cardinal.pull_of(done), "APPROVE", "", [], actor=bob)
    cardinal.catch_up()
    cardinal.drag(done, "Done")
    cardinal.catch_up()
    cleanup.clean_up(cardinal.services)
    assert there(cardinal) == {works.node_id, *clean}


def test_a_place_whose_making_or_removal_was_cut_short_goes_and_one_that_cannot_holds_up_no_other(
    cardinal: Cardinal,
) -> None:
    root = make_host_paths(cardinal.services.config).workspaces
    for name in ("PVTI_1", "PVTI_2", "PVTI_3", "PVTI_4"):
        opened(cardinal, name)
        (root / name / "repo" / "file").touch()
    shutil.rmtree(root / "PVTI_1" / "repo")
    (root / "PVTI_1" / "repo").touch()  # nothing makes a folder there
    (root / "PVTI_2" / "card").unlink()
    (root / "PVTI_3" / "card").write_text("")
    cleanup.clean_up(cardinal.services)
    assert [path.name for path in root.iterdir()] == ["PVTI_1"]


def test_the_place_of_an_investigation_goes_when_its_run_has_ended(cardinal: Cardinal) -> None:
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    run_id = cardinal.run_of(item).run_id
    cardinal.begin(run_id)
    opened(cardinal, f"look-{item.node_id}")
    cardinal.ask(run_id, "Which till?")
    cleanup.clean_up(cardinal.services)
    assert there(cardinal) == {f"look-{item.node_id}"}
    cardinal.say(item, "/cardinal cancel")
    cardinal.catch_up()
    cleanup.clean_up(cardinal.services)
    assert there(cardinal) == set()


def test_what_dead_claims_were_exporting_goes_and_that_of_living_ones_stays(cardinal: Cardinal) -> None:
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    run_id = cardinal.run_of(item).run_id
    cardinal.begin(run_id)
    generation = cardinal.leases[run_id].generation
    mirrors = make_host_paths(cardinal.services.config).mirrors
    for name in (f"{run_id}-{generation}", f"{run_id}-{generation + 1}", "r99-1"):
        (mirrors / f"{name}.quarantine" / "objects").mkdir(parents=True)
        (mirrors / f"{name}.pack").touch()
    for name, age_s in (("killed.new", 2 * cleanup.MIRROR_S), ("just made.new", 0)):
        (mirrors / name).mkdir()
        os.utime(mirrors / name, (time.time() - age_s,) * 2)
    cleanup.clean_up(cardinal.services)
    left = {f"{run_id}-{generation}.quarantine", f"{run_id}-{generation}.pack", "just made.new"}
    assert {one.name for one in mirrors.iterdir()} == left


def test_refs_stay_while_their_run_goes_on_and_go_with_its_place_or_after_two_weeks(
    cardinal: Cardinal, monkeypatch: pytest.MonkeyPatch
) -> None:
    works, ended, gone = (cardinal.new(column="In Progress") for _ in range(3))
    cardinal.catch_up()
    ids = [cardinal.run_of(item).run_id for item in (works, ended, gone)]
    for run_id in ids:
        cardinal.begin(run_id)
    for run_id in ids[1:]:
        cardinal.finish(run_id, files={"a.txt": b"1\n"})
    cardinal.catch_up()
    opened(cardinal, ended.node_id)
    mirror = make_host_paths(cardinal.services.config).mirrors / "acme_shop-1.git"
    mirror.mkdir(parents=True)
    git(mirror, "init", "--quiet", "--bare")
    head = git(mirror, "commit-tree", "-m", "x", git(mirror, "hash-object", "-wt", "tree", "/dev/null"))
    for run_id in (*ids, RunId("r99")):
        for name in ("start", "head"):
            git(mirror, "update-ref", f"refs/cardinal/{run_id}-{name}", head)
    git(mirror, "update-ref", "refs/heads/main", head)

    def refs() -> list[str]:
        return git(mirror, "for-each-ref", "--format=%(refname:lstrip=2)").split()

    monkeypatch.setattr(leftovers, "MAX_RUNS", 1)
    cleanup.clean_up(cardinal.services)
    assert len(refs()) == 7  # of one run at a time
    monkeypatch.undo()
    cleanup.clean_up(cardinal.services)
    kept = [f"{run_id}-{name}" for run_id in sorted(ids[:2]) for name in ("head", "start")]
    assert refs() == [*kept, "main"]
    monkeypatch.setattr(cleanup, "REF_AGE", timedelta(0))
    cleanup.clean_up(cardinal.services)
    assert refs() == [f"{ids[0]}-head", f"{ids[0]}-start", "main"]


def test_a_chat_whose_worker_died_is_forgotten_once_no_answer_can_come_any_more(cardinal: Cardinal) -> None:
    for name in ("chat-old", "chat-new"):
        opened(cardinal, name)
    long_ago = time.time() - cleanup.CHAT_S - 60
    os.utime(make_host_paths(cardinal.services.config).workspaces / "chat-old", (long_ago, long_ago))
    cleanup.clean_up(cardinal.services)
    assert there(cardinal) == {"chat-new"}


def test_the_sockets_of_dead_claims_go_and_those_of_living_ones_stay(cardinal: Cardinal) -> None:
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    run_id = cardinal.run_of(item).run_id
    cardinal.begin(run_id)
    generation = cardinal.leases[run_id].generation
    gateways = make_host_paths(cardinal.services.config).gateways
    for name in (f"{run_id}-{generation}", f"{run_id}-{generation + 1}", "r99-1"):
        (gateways / name).mkdir(parents=True)
    cleanup.clean_up(cardinal.services)
    assert {one.name for one in gateways.iterdir()} == {f"{run_id}-{generation}"}


@pytest.mark.parametrize(("takes_s", "ends"), [(400, True), (601, False)])
def test_a_long_clean_up_keeps_its_claim_while_each_removal_is_short_and_else_it_stops(
    cardinal: Cardinal, monkeypatch: pytest.MonkeyPatch, takes_s: float, ends: bool
) -> None:
    services, taken = cardinal.services, []

    def remove() -> None:
        cardinal.clock.forward(takes_s)
        with event_store.writing(services.engine) as db:
            name = f"tidy:{services.host}"
            taken.append(leases.take(db, name, "another", ttl_s=cleanup.LEASE_S) is not None)

    left = [Leftover(name, remove) for name in ("one", "two", "three")]
    monkeypatch.setattr(cleanup, "_gateways", lambda _places, _alive: iter(left))
    if ends:
        assert cleanup.clean_up(services) == ("one", "two", "three")
        assert taken == [False] * 3
    else:
        with pytest.raises(cleanup.TidyingError):
            cleanup.clean_up(services)
        assert taken == [True]
    with event_store.writing(services.engine) as db:
        assert (leases.take(db, f"tidy:{services.host}", "a third", ttl_s=1) is not None) is ends


def test_a_mirror_that_a_fetch_holds_is_read_at_once_and_left_for_the_next_time(
    cardinal: Cardinal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftovers, "LOCK_S", 1)
    mirror = make_host_paths(cardinal.services.config).mirrors / "acme_shop-1.git"
    mirror.mkdir(parents=True)
    git(mirror, "init", "--quiet", "--bare")
    head = git(mirror, "commit-tree", "-m", "x", git(mirror, "hash-object", "-wt", "tree", "/dev/null"))
    git(mirror, "update-ref", "refs/cardinal/r99-head", head)
    with (mirror / "cardinal.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert leftovers.runs_in(mirror) == ("r99",)
        with pytest.raises(GitError):
            leftovers.forget(mirror, [RunId("r99")])
        assert cleanup.clean_up(cardinal.services) == ()
    store = store_of(make_host_paths(cardinal.services.config))
    digest = store.keep("of nobody").digest
    long_ago = time.time() - cleanup.ORPHAN_S - 60
    os.utime(
        make_host_paths(cardinal.services.config).artifacts / digest[:2] / digest,
        (long_ago, long_ago),
    )
    # What waits for nobody goes first.
    assert cleanup.clean_up(cardinal.services) == (
        "1 files of no run",
        f"the refs of 1 runs in {mirror.name}",
    )


def test_the_log_of_a_run_that_is_over_goes_when_it_is_old_and_no_other_file_does(cardinal: Cardinal) -> None:
    works, over, young = (cardinal.new(column="In Progress") for _ in range(3))
    cardinal.catch_up()
    ids = [cardinal.run_of(item).run_id for item in (works, over, young)]
    for run_id in ids:
        cardinal.begin(run_id)
    for run_id in ids[1:]:
        cardinal.finish(run_id, files={"a.txt": b"1\n"})
    logs = make_host_paths(cardinal.services.config).logs
    logs.mkdir(exist_ok=True)
    old = time.time() - cardinal.services.config.artifact_days * 86_400 - 60
    for name in (*ids, "r999", "redis", "remember"):
        (logs / f"{name}.log").touch()
        if name != ids[2]:
            os.utime(logs / f"{name}.log", (old, old))
    assert cleanup.clean_up(cardinal.services, dry_run=True).count(f"the log of {ids[1]}") == 1
    cleanup.clean_up(cardinal.services)
    assert {file.stem for file in logs.iterdir()} == {ids[0], ids[2], "redis", "remember"}


def test_the_copy_of_files_without_a_repository_goes_and_comes_back_and_their_place_goes_with_the_card(
    cardinal: Cardinal,
) -> None:
    cardinal.set_policy(with_column(workspace="scratch"))
    cardinal.scenario(work=[{"run": "echo line >> notes.md"}, {"finish": {"done": "Done."}}])
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    mirrors = make_host_paths(cardinal.services.config).mirrors
    cleanup.clean_up(cardinal.services)
    (copy,) = mirrors.glob("_*.git")
    old = time.time() - 2 * cleanup.MIRROR_S
    os.utime(copy, (old, old))
    cleanup.clean_up(cardinal.services)
    assert (list(mirrors.glob("_*.git")), there(cardinal)) == ([], {f"scratch-{item.node_id}"})
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up(work=True)
    assert [event.size_bytes for event in cardinal.events(FolderKept)] == [5, 10]
    cardinal.drag(item, "Done")
    cardinal.catch_up()
    cleanup.clean_up(cardinal.services)
    assert there(cardinal) == set()
