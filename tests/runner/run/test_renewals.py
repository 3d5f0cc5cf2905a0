"""A claim's deadline follows what is certain of its lease."""

import pytest
from sqlalchemy import Connection, event

from runner.exec.deadline import KILL_S
from runner.run.log import RunLog
from tests.runner.world import World

TTL_S = 60.0


class AnswerLostError(Exception):
    """The connection broke: whether the ledger committed is not known."""


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

    def lose(_db: Connection) -> None:
        raise AnswerLostError

    event.listen(world.engine, "commit", lose)
    log._renewed -= TTL_S
    with pytest.raises(AnswerLostError):
        log.beat()
    assert near(log.deadline.left_s, TTL_S)


def test_a_renewal_that_may_have_failed_does_not_extend_the_deadline(world: World) -> None:
    log = claimed(world)
    log.beat()

    def lose(_db: Connection) -> None:
        raise AnswerLostError

    event.listen(world.engine, "commit", lose)
    with pytest.raises(AnswerLostError):
        log.hold(600)
    assert near(log.deadline.left_s, TTL_S)
