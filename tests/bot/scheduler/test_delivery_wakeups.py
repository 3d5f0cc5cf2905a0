"""Wake-ups of a group of deliveries through a real Redis: a worker takes each, in its lane, once."""

import subprocess

from redis import Redis

from bot.scheduler import delivery_wakeups, queues
from bot.scheduler.queues import CONTROL, ECHOES, MARK_S, QueuedCall, WakeUp, mark_key
from ledger.ids import DeliveryId

PEOPLE, APP = DeliveryId("d-1"), DeliveryId("d-2")
INGEST = "bot.scheduler.jobs.ingest"


def calls(redis: Redis, name: str) -> list[QueuedCall | None]:
    """Return what a worker of this queue would be given."""
    ids = redis.lrange(queues.queue(redis, name).key, 0, -1)
    return [WakeUp.fetch(rq_id.decode(), connection=redis).call for rq_id in ids]


def test_each_delivery_waits_in_its_lane_as_if_it_were_alone(redis: Redis) -> None:
    assert delivery_wakeups.wake_ingestion(redis, [(PEOPLE, False), (APP, True)])
    assert calls(redis, CONTROL) == [QueuedCall(INGEST, ("d-1",), "ingest-d-1")]
    assert calls(redis, ECHOES) == [QueuedCall(INGEST, ("d-2",), "ingest-d-2")]
    assert MARK_S - 60 < redis.ttl(mark_key("ingest-d-2")) <= MARK_S
    assert queues.request(redis, "ingest", "d-2")  # as a tick does: it waits already
    assert len(calls(redis, CONTROL)) == 1


def test_a_repeat_adds_no_second_wake_up(redis: Redis) -> None:
    for _ in range(2):
        assert delivery_wakeups.wake_ingestion(redis, [(PEOPLE, False), (PEOPLE, False)])
    assert len(calls(redis, CONTROL)) == 1


def test_without_redis_wake_ups_are_lost_and_nothing_else(
    redis: Redis, redis_server: "subprocess.Popen[bytes]"
) -> None:
    redis_server.kill()
    redis_server.wait(60)
    assert not delivery_wakeups.wake_ingestion(redis, [(PEOPLE, False)])
