"""Whatever people do, and whatever goes wrong meanwhile: the laws of `laws.py` hold after each step."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bot.reactor import reactor
from bot.scheduler import ticker
from forge.store.board import Item
from ledger.events.run import RunClaimed, RunEnded, RunQueued, UsageMetered
from ledger.ids import RunId
from ledger.log import event_store
from ledger.states import Ending, RunKind
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.opening import opened
from tests.bot.flows.people import issue_of
from tests.bot.flows.runs.test_dependencies import block, close
from tests.bot.flows.settings import with_column
from tests.faults import laws, machine
from tests.faults.worker import Worker

SHARES = 8  # of a night
HOUR_S = 3700  # a little more: GitHub takes only so many calls in one
BETWEEN = 40  # cards that are made at once
pytestmark = pytest.mark.timeout(1800)


def test_the_laws_hold_on_boards_that_are_always_the_same() -> None:
    machine.play(1, examples=6, steps=20)


@pytest.mark.soak(
    instead="tests/faults/test_machine.py::test_the_laws_hold_on_boards_that_are_always_the_same"
)
@pytest.mark.parametrize("share", range(SHARES))
def test_the_laws_hold_on_boards_that_are_new_each_night(share: int) -> None:
    """Play 40,000 steps in all shares, by seeds of the night."""
    night = int(time.time()) // 86_400
    chosen = night * SHARES + share
    print(f"scripts/faults --play {chosen}")
    machine.play(chosen, examples=100, steps=50)


def assert_lawful(cardinal: Cardinal, folder: Path, items: list[Item]) -> None:
    replay = laws.Replay.beside(folder)
    assert list(laws.breaches(cardinal, replay, items, is_late=False)) == []
    assert replay.failures == []
    cardinal.assert_no_leftovers()
    replay.engine.dispose()


@pytest.mark.parametrize("count", [5, pytest.param(480, marks=pytest.mark.soak)])
def test_a_fan_of_cards_that_wait_for_one_starts_once_that_is_done(count: int, tmp_path: Path) -> None:
    with opened(tmp_path) as cardinal:
        cardinal.clock.stop()
        whole, items = cardinal.new("Whole"), list[Item]()
        for number in range(count):
            items.append(cardinal.new(f"Part {number}", column="In Progress"))
            block(cardinal, items[-1], whole)
            if number % BETWEEN == BETWEEN - 1:
                cardinal.catch_up()
                cardinal.clock.forward(HOUR_S)
        cardinal.catch_up()
        assert cardinal.ready() == ()
        cardinal.clock.forward(HOUR_S)
        close(cardinal, whole)
        settle(cardinal)
        assert len(cardinal.ready()) == 3  # as many as the column takes; the others say so
        settle(cardinal)
        assert_lawful(cardinal, tmp_path, [whole, *items])


@pytest.mark.parametrize("count", [5, pytest.param(100, marks=pytest.mark.soak)])  # GitHub takes no more
def test_a_card_waits_for_all_its_parts_and_starts_after_the_last(count: int, tmp_path: Path) -> None:
    with opened(tmp_path) as cardinal:
        cardinal.clock.stop()
        cardinal.set_policy(with_column(sub_issues="wait"))
        whole, items = cardinal.new("Whole"), list[Item]()
        for number in range(count):
            items.append(cardinal.new(f"Part {number}"))
            links, alice = cardinal.forge.store.links, cardinal.person("alice")
            links.add_sub_issue(issue_of(whole), issue_of(items[-1]), actor=alice)
            if number % BETWEEN == BETWEEN - 1:
                cardinal.catch_up()
                cardinal.clock.forward(HOUR_S)
        cardinal.drag(whole, "In Progress")
        cardinal.catch_up()
        for item in items:
            assert cardinal.ready() == ()
            close(cardinal, item)
            cardinal.catch_up()
        settle(cardinal)
        assert cardinal.ready() == (cardinal.run_of(whole).run_id,)
        assert_lawful(cardinal, tmp_path, [whole, *items])


@pytest.mark.parametrize("count", [5, pytest.param(1_000, marks=pytest.mark.soak)])
def test_a_card_of_many_runs_has_its_next_one(count: int, tmp_path: Path) -> None:
    with opened(tmp_path) as cardinal:
        cardinal.clock.stop()
        item = cardinal.new(column="In Progress")
        cardinal.catch_up()
        carry_out(cardinal, item, Worker.fail)
        add_failed_runs(cardinal, count)
        cardinal.say(item, "/cardinal retry")
        cardinal.catch_up()
        run = cardinal.run_of(item)
        assert (run.run_id, run.attempt) == (f"r{count + 1}", count + 1)
        carry_out(cardinal, item, Worker.deliver)
        assert cardinal.pull_of(item).issue.state == "open"
        assert_lawful(cardinal, tmp_path, [item])


def carry_out(cardinal: Cardinal, item: Item, step: Callable[[Worker], None]) -> None:
    """Let a worker take the card's run, and do one step with it."""
    worker = Worker.claim(cardinal, cardinal.run_of(item).run_id)
    assert worker is not None
    worker.take(step)
    settle(cardinal)


def add_failed_runs(cardinal: Cardinal, count: int) -> None:
    """Add what a card's runs up to number `count` left in the log; the rules are not asked about each."""
    (queued,) = cardinal.events(RunQueued)
    with event_store.writing(cardinal.services.engine) as db:
        for number in range(2, count + 1):
            run_id = RunId(f"r{number}")
            event_store.append(
                db,
                replace(queued, run_id=run_id, attempt=number, kind=RunKind.RETRY),
                RunClaimed(run_id, 1, "worker"),
                UsageMetered(run_id, 0.01, 1, 1, 1, 1.0),
                RunEnded(run_id, Ending.FAILED, "agent_error", "it crashed", "working"),
                at=cardinal.clock(),
            )
        seen = event_store.position(db, reactor.READER)
        event_store.advance_cursor(db, reactor.READER, before=seen, after=event_store.last_seq(db))


def settle(cardinal: Cardinal) -> None:
    """Let happen what is due, with the places in queues that a next tick shows."""
    cardinal.catch_up()
    ticker.write_places(cardinal.process)
    cardinal.catch_up()
