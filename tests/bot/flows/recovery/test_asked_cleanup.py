"""A workspace that somebody wants removed goes, with an agent's work saved, and never under a run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.runspec.host_paths import make_host_paths
from bot.scheduler import cleanup
from ledger.events.workspace import WorkspaceCleanAsked, WorkspaceCleaned, WorkspaceKept, WorkspaceTaken
from ledger.log import event_store
from ledger.states import Ending
from ledger.views import checkpoints, workspaces
from runner.artifacts.store import store_of
from runner.run.run_spec import HostPaths
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.opening import opened
from tests.runner.flows.test_hosts import ASK, commit, uncommitted

FINISH = {"finish": {"done": "It greets."}}


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Cardinal]:
    with opened(tmp_path) as cardinal:
        yield cardinal


def paths_of(cardinal: Cardinal) -> HostPaths:
    return make_host_paths(cardinal.services.config)


def folders(cardinal: Cardinal) -> list[str]:
    return [it.name for it in paths_of(cardinal).workspaces.iterdir()]


def test_a_parked_card_is_cleaned_by_its_host_and_continues_as_it_was(fresh: Cardinal) -> None:
    fresh.scenario(work=[*commit("first"), uncommitted("here"), ASK, *commit("second"), FINISH])
    item = fresh.new(column="In Progress")
    fresh.catch_up(work=True)
    asked = fresh.say(item, "/cardinal clean")
    fresh.catch_up()
    assert fresh.reactions(asked) == ["+1"]
    assert "the workspace of" in "".join(cleanup.clean_up(fresh.services, dry_run=True))
    assert folders(fresh) == [item.node_id]
    assert cleanup.clean_up(fresh.services)[0].endswith("as alice asked")
    assert folders(fresh) == []
    (event,) = fresh.events(WorkspaceCleaned)
    assert (event.by, event.host) == ("alice", fresh.services.host)
    fresh.say(item, "Moin")
    fresh.catch_up(work=True)
    run = fresh.run_of(item)
    assert run.ending is Ending.SUCCEEDED, run.detail
    git, pushed = fresh.forge.store.repos.git(fresh.repo), fresh.pull_of(item).head_sha
    for name in ("first", "second", "left-here"):
        assert git.read(pushed, f"{name}.txt")


def test_a_run_that_came_first_keeps_its_workspace(fresh: Cardinal) -> None:
    fresh.scenario(work=[*commit("first"), ASK, FINISH])
    item = fresh.new(column="In Progress")
    fresh.catch_up(work=True)
    fresh.say(item, "/cardinal clean")
    fresh.catch_up()
    fresh.say(item, "Moin")
    fresh.catch_up()
    assert fresh.claim(fresh.run_of(item).run_id)
    cleanup.clean_up(fresh.services)
    assert folders(fresh) == [item.node_id]
    assert fresh.events(WorkspaceCleaned) == []


def test_what_the_store_lost_stays_and_the_card_says_so(fresh: Cardinal) -> None:
    fresh.scenario(work=[*commit("first"), ASK, FINISH])
    item = fresh.new(column="In Progress")
    fresh.catch_up(work=True)
    fresh.say(item, "/cardinal clean")
    fresh.catch_up()
    with event_store.reading(fresh.services.engine) as db:
        kept = checkpoints.of_place(db, item.node_id)
    assert kept is not None
    store_of(paths_of(fresh)).remove(kept.bundle)
    cleanup.clean_up(fresh.services)
    fresh.catch_up()
    assert folders(fresh) == [item.node_id]
    assert "the store does not have commits and files of r1" in fresh.told(item)[-1]
    assert len(fresh.events(WorkspaceKept)) == 1
    fresh.say(item, "/cardinal clean discard")
    fresh.catch_up()
    cleanup.clean_up(fresh.services)
    assert folders(fresh) == []


def test_a_workspace_that_is_gone_without_a_word_is_listed_no_more(fresh: Cardinal) -> None:
    fresh.scenario(work=[*commit("first"), ASK, FINISH])
    item = fresh.new(column="In Progress")
    fresh.catch_up(work=True)
    paths_of(fresh).workspaces.joinpath(item.node_id).rename(paths_of(fresh).logs / "elsewhere")
    cleanup.clean_up(fresh.services)
    with event_store.reading(fresh.services.engine) as db:
        assert workspaces.on_host(db, fresh.services.host) == ()
    assert [it.by for it in fresh.events(WorkspaceCleaned)] == [""]


def test_what_is_in_no_checkpoint_by_then_stays_as_well(fresh: Cardinal) -> None:
    fresh.scenario(work=[*commit("first"), ASK, FINISH])
    item = fresh.new(column="In Progress")
    fresh.catch_up(work=True)
    run = fresh.run_of(item)
    asked = WorkspaceCleanAsked(run.card_id, item.node_id, fresh.services.host, "alice")
    taken = WorkspaceTaken(run.run_id, item.node_id, fresh.services.host, 2)
    with event_store.writing(fresh.services.engine) as db:
        event_store.append(db, taken, asked, at=fresh.services.now())
    cleanup.clean_up(fresh.services)
    assert folders(fresh) == [item.node_id]
    (kept,) = fresh.events(WorkspaceKept)
    assert kept.missing == ("the work of r1: it has no checkpoint",)
