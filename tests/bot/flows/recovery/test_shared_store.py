"""Two hosts that share PostgreSQL and a bucket: a run's work and its artifacts go through both."""

from dataclasses import replace
from pathlib import Path

from bot.runspec.host_paths import make_host_paths
from bot.system.secret import Secret
from ledger.events.workspace import WorkspaceRestored
from ledger.log import event_store
from ledger.states import Ending
from ledger.views import artifacts
from runner.artifacts.store import store_of
from tests.bot.flows.opening import opened
from tests.runner.artifacts.bucket import in_bucket, s3_server
from tests.runner.flows.test_hosts import ASK, commit, uncommitted

FINISH = {"finish": {"done": "It greets."}}


def test_a_run_leaves_its_work_and_its_artifacts_in_the_bucket_and_goes_on_on_another_host(
    tmp_path: Path, postgresql_ledger: str
) -> None:
    with s3_server() as address, opened(tmp_path, database_url=postgresql_ledger) as cardinal:
        spec = in_bucket(address)
        home = cardinal.services.config.home
        access = {"store_access_key": spec.access_key, "store_secret_key": Secret(spec.secret_key)}
        cardinal.configure(store=spec.address, store_url=spec.endpoint, store_region=spec.region, **access)
        cardinal.services = replace(cardinal.services, host="near")
        cardinal.scenario(work=[*commit("first"), uncommitted("near"), ASK, *commit("second"), FINISH])
        item = cardinal.new(column="In Progress")
        cardinal.catch_up(work=True)
        cardinal.configure(home=home / "far")
        cardinal.services = replace(cardinal.services, host="far")
        cardinal.say(item, "Moin")
        cardinal.catch_up(work=True)
        run = cardinal.run_of(item)
        assert (run.ending, run.host) == (Ending.SUCCEEDED, "far"), run.detail
        (restored,) = cardinal.events(WorkspaceRestored)
        assert (restored.source_host, restored.host, restored.missing) == ("near", "far", ())
        git, pushed = cardinal.forge.store.repos.git(cardinal.repo), cardinal.pull_of(item).head_sha
        for name in ("first", "second", "left-near"):
            assert git.read(pushed, f"{name}.txt")
        with event_store.reading(cardinal.services.engine) as db:
            files = artifacts.of_run(db, run.run_id)
        store = store_of(make_host_paths(cardinal.services.config))
        assert {"briefing.md", f"{run.branch}.patch"} <= {file.name for file in files}
        assert all(len(store.read(file.digest) or b"") == file.size_bytes for file in files)
        assert not any(path.is_file() for path in home.rglob("artifacts/**/*"))
