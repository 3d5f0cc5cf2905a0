"""A claim's deadline follows what is certain of its lease."""

from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError

from runner.exec.deadline import KILL_S
from runner.run.log import RunLog
from tests.runner.world import World

TTL_S = 60.0
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
    return world.claim(world.order(), ttl_s=TTL_S)[1]


def near(left_s: float, ttl_s: float) -> bool:
    return ttl_s - KILL_S - 1 < left_s <= ttl_s - KILL_S


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
