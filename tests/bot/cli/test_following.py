"""`cardinal job follow-run --wait`: every line once over cut connections, and the ending as exit code."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Semaphore

import pytest
from click.testing import CliRunner, Result

from bot.cli import main
from bot.web.api import following
from bot.web.live.streams import StreamLimits
from ledger.events.run import AgentSaid, RunEnded
from ledger.states import Ending
from tests.bot.web.api.program import Program
from tests.bot.web.live.serving import serving
from tests.bot.web.pages.conftest import pages
from tests.bot.web.pages.forms import at_work
from tests.bot.web.pages.world import Pages

__all__ = ["pages"]
LIMITS = StreamLimits(life_s=0.1, look_s=0.02)
WAIT_S = 30
Follow = Callable[..., Result]


@pytest.fixture
def connected() -> Semaphore:
    """Count connections to the stream."""
    return Semaphore(0)


@pytest.fixture
def follow(
    pages: Pages, tmp_path: Path, connected: Semaphore, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Follow]:
    """Serve streams that are cut all the time; return how to follow a run from a shell."""
    monkeypatch.setattr(following, "AGAIN_S", 0.05)

    def app(environ: dict[str, str], start: Callable[..., object]) -> object:
        if environ["PATH_INFO"].endswith("/events"):
            connected.release()
        return pages.app(environ, start)

    with serving(app, pages.cardinal.services.engine, LIMITS) as (host, port):  # type: ignore[arg-type]
        environ = {
            "CARDINAL_HOME": str(tmp_path / "elsewhere"),
            "CARDINAL_URL": f"http://{host}:{port}",
            "CARDINAL_TOKEN": Program(pages, "bob").token,
        }
        yield lambda run, *more: CliRunner().invoke(main, ["job", "follow-run", run, *more], env=environ)


def test_a_run_is_followed_to_its_end_over_connections_that_break(
    pages: Pages, follow: Follow, connected: Semaphore
) -> None:
    run_id = pages.cardinal.run_of(at_work(pages)).run_id

    def works() -> None:
        for word in ("One", "Two", ""):
            for _ in range(2):  # the second goes on behind what came over the first
                assert connected.acquire(timeout=WAIT_S)
            if word:
                pages.cardinal.write(run_id, AgentSaid(run_id, word))
        pages.cardinal.finish(run_id)

    with ThreadPoolExecutor(1) as pool:
        worker = pool.submit(works)
        result = follow(run_id, "--wait", str(WAIT_S), "--json")
        worker.result()
    assert result.exit_code == 0, result.output
    lines = [json.loads(row) for row in result.stdout.splitlines()]
    seqs = [it["seq"] for it in lines]
    assert seqs == sorted(set(seqs))
    listed = Program(pages, "bob").get(f"/runs/{run_id}/events")["lines"]
    assert lines == listed


def test_a_run_that_did_not_succeed_is_a_fault_and_so_is_one_that_goes_on(
    pages: Pages, follow: Follow
) -> None:
    run_id = pages.cardinal.run_of(at_work(pages)).run_id
    late = follow(run_id, "--wait", "1")
    assert (late.exit_code, f"{run_id} is not over after 1 s" in late.stderr) == (2, True), late.output
    pages.cardinal.write(run_id, RunEnded(run_id, Ending.FAILED, "crash", "It fell", "working"))
    ended = follow(run_id, "--wait", str(WAIT_S))
    assert (ended.exit_code, f"{run_id} failed: crash: It fell" in ended.stderr) == (1, True), ended.output
    assert follow("r999", "--wait", "1").exit_code == 1
