"""A claim's deadline follows what is certain of its lease."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pysqlite3 import dbapi2 as sqlite
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, OperationalError

from ledger.events.run import Progressed
from ledger.ids import RunId
from runner.exec.deadline import KILL_S
from runner.run import log as run_log
from runner.run.log import RunLog
from tests.runner.world import World

TTL_S = 60.0
RUN = RunId("r1")
SQLITE_TRANSACTION = 22


def lose_commits(world: World) -> None:
    """Let every commit fail: whether the ledger has it is not known.

    Source: sqlite.org/c3ref/set_authorizer.html.
    """

    def judge(action: int, operation: str | None, *_: object) -> int:
        return int((action, operation) == (SQLITE_TRANSACTION, "COMMIT"))  # 1 denies it

    def watch(connection: Any, _record: object) -> None:
        connection.set_authorizer(judge)

    world.engine.dispose()
    event.listen(world.engine, "connect", watch)


def claimed(world: World) -> RunLog:
    return world.claim(world.spec(), ttl_s=TTL_S)[1]


def near(left_s: float, ttl_s: float) -> bool:
    return ttl_s - KILL_S - 1 < left_s <= ttl_s - KILL_S


@pytest.fixture(autouse=True)
def _tried_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_log, "AGAIN_S", 0.05)


def test_every_renewal_moves_the_deadline(world: World) -> None:
    log = claimed(world)
    assert log.deadline.left_s == float("inf")
    log.beat()
    assert near(log.deadline.left_s, TTL_S)
    log.hold(600)
    assert near(log.deadline.left_s, 600)


def test_a_renewal_that_may_have_shortened_the_lease_shortens_the_deadline(world: World) -> None:
    log = claimed(world)
    log.hold(600)
    lose_commits(world)
    log._renewed -= TTL_S
    with pytest.raises(DBAPIError):
        log.beat()
    assert near(log.deadline.left_s, TTL_S)


def test_a_renewal_that_may_have_failed_does_not_extend_the_deadline(world: World) -> None:
    log = claimed(world)
    log.beat()
    lose_commits(world)
    with pytest.raises(DBAPIError):
        log.hold(600)
    assert near(log.deadline.left_s, TTL_S)


@contextmanager
def away(world: World, times: int) -> Iterator[list[int]]:
    """Refuse so many connections to the ledger; the list tells how many were refused."""
    refused: list[int] = []

    def refuse(*_: object) -> None:
        if len(refused) < times:
            refused.append(1)
            raise sqlite.OperationalError("unable to open database file")

    world.engine.dispose()
    event.listen(world.engine, "do_connect", refuse)
    try:
        yield refused
    finally:
        event.remove(world.engine, "do_connect", refuse)


def test_a_ledger_that_is_away_for_a_moment_ends_no_run(world: World) -> None:
    log = claimed(world)
    log.beat()
    for act in (log.fold_new, lambda: log.hold(TTL_S), lambda: log.append(Progressed(RUN, "Busy"))):
        with away(world, 1) as refused:
            act()
        assert refused
    assert [it for it in world.events(RUN) if isinstance(it, Progressed)] == [Progressed(RUN, "Busy")]


def test_what_was_written_though_the_answer_was_lost_is_not_written_again(world: World) -> None:
    log = claimed(world)
    assert world.lease is not None
    before = RunLog(world.engine, RUN, world.lease, world.clock, ttl_s=TTL_S)  # which did not hear the answer
    said = (Progressed(RUN, "Busy"), Progressed(RUN, "Busier"))
    log.append(*said)
    with away(world, 1):
        before.append(*said)
    assert [it for it in world.events(RUN) if isinstance(it, Progressed)] == list(said)
    log.append(*said)
    said_again = [it for it in world.events(RUN) if isinstance(it, Progressed)]
    assert said_again == [*said, *said], "nothing failed, so it is new"


def test_an_outage_that_outlasts_the_claim_ends_the_waiting(world: World) -> None:
    log = claimed(world)
    log.beat()
    log.deadline.shorten(log.deadline.of_lease(0))
    with away(world, 9) as refused, pytest.raises(OperationalError):
        log.append(Progressed(RUN, "Busy"))
    assert len(refused) == 1
