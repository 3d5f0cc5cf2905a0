"""`cardinal job follow-… --wait`: every line once over cut connections, and the ending as exit code."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Semaphore
from typing import Any

import pytest
from click.testing import CliRunner, Result
from flask import request, request_started

from bot.cli import main
from bot.cli._operations import printer
from bot.web.api import following
from bot.web.api.following import follow_once
from bot.web.live.streams import StreamLimits
from ledger.events.run import AgentSaid, Noted, RunEnded
from ledger.states import Ending
from tests.bot.web.api.program import Program
from tests.bot.web.live.serving import serving
from tests.bot.web.pages.conftest import pages
from tests.bot.web.pages.forms import at_work
from tests.bot.web.pages.world import Pages

__all__ = ["pages"]
LIMITS = StreamLimits(life_s=0.1, look_s=0.02)
WAIT_S = 60
Follow = Callable[..., Result]


@pytest.fixture
def connected() -> Semaphore:
    """Count connections to the stream."""
    return Semaphore(0)


@pytest.fixture
def address(pages: Pages, connected: Semaphore, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve streams that are cut all the time."""
    monkeypatch.setattr(following, "AGAIN_S", 0.05)

    def count(_sender: object) -> None:
        if request.path.endswith("/events"):
            connected.release()

    with (
        request_started.connected_to(count, pages.app),
        serving(pages.app, pages.cardinal.services.engine, LIMITS) as at,
    ):
        yield "http://{}:{}".format(*at)


@pytest.fixture
def follow(pages: Pages, tmp_path: Path, address: str) -> Follow:
    """Return how to follow from a shell."""
    environ = {
        "CARDINAL_HOME": str(tmp_path / "elsewhere"),
        "CARDINAL_URL": address,
        "CARDINAL_TOKEN": Program(pages, "bob").token,
    }
    return lambda name, *more: CliRunner().invoke(main, ["job", name, *more], env=environ)


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
        result = follow("follow-run", run_id, "--wait", str(WAIT_S), "--json")
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
    late = follow("follow-run", run_id, "--wait", "1")
    assert (late.exit_code, f"{run_id} has not ended after 1 s" in late.stderr) == (2, True), late.output
    pages.cardinal.write(run_id, RunEnded(run_id, Ending.FAILED, "crash", "It fell", "working"))
    ended = follow("follow-run", run_id, "--wait", str(WAIT_S))
    assert (ended.exit_code, f"{run_id} failed: crash: It fell" in ended.stderr) == (1, True), ended.output
    assert follow("follow-run", "r999", "--wait", "1").exit_code == 1


def test_a_board_is_followed_from_now_on_over_connections_that_break(
    pages: Pages, follow: Follow, connected: Semaphore, address: str
) -> None:
    run_id = pages.cardinal.run_of(at_work(pages)).run_id
    texts = list[str]()

    class EnoughError(Exception):
        """Both are there."""

    def take(event: dict[str, Any]) -> None:
        texts.append(event["text"])
        if len(texts) == 2:
            raise EnoughError

    def works() -> None:
        for word in ("One", "Two"):
            for _ in range(2):
                assert connected.acquire(timeout=WAIT_S)
            pages.cardinal.write(run_id, Noted(run_id, word), AgentSaid(run_id, word))

    wanted = {"board": "acme/1", "kinds": "Noted"}
    with ThreadPoolExecutor(1) as pool:
        worker = pool.submit(works)
        with pytest.raises(EnoughError):
            follow_once(address, Program(pages, "bob").token, "follow_events", wanted, take, wait_s=WAIT_S)
        worker.result()
    assert texts == ["note: One", "note: Two"]
    over = follow("follow-events", "--wait", "1")
    assert (over.exit_code, over.output) == (0, "")


def test_a_line_has_a_blank_between_the_job_and_what_happened(capsys: pytest.CaptureFixture[str]) -> None:
    event = {"at": "2026-11-27T05:19:23.5Z", "repository": "acme/shop", "number": 4, "text": "alice: hello"}
    printer(as_json=False)(event)
    assert capsys.readouterr().out == "2026-11-27T05:19:23 acme/shop#4 alice: hello\n"
