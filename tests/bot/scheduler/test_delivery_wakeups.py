"""Wake-ups of a group of deliveries through a real Redis: a worker takes each, in its lane, once."""

import subprocess

from redis import Redis

from bot.scheduler import delivery_wakeups, queues
from bot.scheduler.queues import CONTROL, CROWD, ECHOES, MARK_S, QueuedCall, WakeUp, mark_key
from ledger.ids import DeliveryId

PEOPLE, APP = DeliveryId("d-1"), DeliveryId("d-2")
INGEST = "bot.scheduler.jobs.ingest"


def calls(redis: Redis, name: str) -> list[QueuedCall | None]:
    """Return what a worker of this queue would be given."""
    ids = queues.queue(redis, name).job_ids
    jobs = [WakeUp.fetch(rq_id, connection=redis) for rq_id in ids]
    return [job.call for job in jobs if isinstance(job, WakeUp)]


def test_each_delivery_waits_in_its_lane_as_if_it_were_alone(redis: Redis) -> None:
    assert delivery_wakeups.wake_ingestion(redis, [(PEOPLE, False, "I_1"), (APP, True, "I_1")])
    assert calls(redis, CONTROL) == [QueuedCall(INGEST, ("d-1",), "ingest-d-1")]
    assert calls(redis, ECHOES) == [QueuedCall(INGEST, ("d-2",), "ingest-d-2")]
    assert MARK_S - 60 < redis.ttl(mark_key("ingest-d-2")) <= MARK_S
    assert queues.request(redis, "ingest", "d-2")  # as a tick does: it waits already
    assert len(calls(redis, CONTROL)) == 1


def test_a_repeat_adds_no_second_wake_up(redis: Redis) -> None:
    for _ in range(2):
        assert delivery_wakeups.wake_ingestion(redis, [(PEOPLE, False, "I_1"), (PEOPLE, False, "I_1")])
    assert len(calls(redis, CONTROL)) == 1


def test_without_redis_wake_ups_are_lost_and_nothing_else(
    redis: Redis, redis_server: "subprocess.Popen[bytes]"
) -> None:
    redis_server.kill()
    redis_server.wait(60)
    assert not delivery_wakeups.wake_ingestion(redis, [(PEOPLE, False, "I_1")])


def send(redis: Redis, about: str, *names: str) -> None:
    assert delivery_wakeups.wake_ingestion(redis, [(DeliveryId(name), False, about) for name in names])


def waiting(redis: Redis, name: str) -> list[str]:
    return [call.arguments[0] for call in calls(redis, name) if call is not None]


def test_an_issue_that_sends_hundreds_is_a_crowd_and_other_cards_do_not_wait_behind_it(redis: Redis) -> None:
    names = [f"a-{number}" for number in range(300)]
    send(redis, "I_a", *names)
    send(redis, "I_b", "b-0")
    send(redis, "", *(f"n-{number}" for number in range(20)))
    assert waiting(redis, CONTROL) == ["b-0", *(f"n-{number}" for number in range(20))]
    assert waiting(redis, CROWD) == names
    assert {(redis.get(mark_key(f"ingest-{name}")) or b"").split()[0] for name in names} == {CROWD.encode()}


def test_deliveries_of_a_crowd_stay_in_order_until_none_of_it_waits(redis: Redis) -> None:
    names = [f"a-{number}" for number in range(15)]
    send(redis, "I_a", *names)
    for key in redis.keys("cardinal:recent:*"):
        redis.delete(key)  # a minute later
    send(redis, "I_a", "a-late")
    assert waiting(redis, CROWD)[-1] == "a-late"
    while queues.take_more(redis, CROWD, INGEST):
        pass
    send(redis, "I_a", "a-last")
    assert waiting(redis, CONTROL)[-1] == "a-last"
    assert waiting(redis, CROWD) == []


def test_one_call_takes_few_of_a_crowd(redis: Redis) -> None:
    send(redis, "I_a", *(f"a-{number}" for number in range(40)))
    assert len(queues.take_more(redis, CROWD, INGEST)) == queues.CROWD_TOGETHER - 1


def test_a_tick_adds_no_second_wake_up_for_one_in_a_crowd(redis: Redis) -> None:
    send(redis, "I_a", *(f"a-{number}" for number in range(12)))
    for name in ("a-0", "a-11"):
        redis.expire(mark_key(f"ingest-{name}"), MARK_S - queues.LOST_AFTER_S - 1)
        assert queues.request(redis, "ingest", name)
    assert waiting(redis, CONTROL) == []


def test_as_many_deliveries_of_one_issue_as_a_person_makes_are_no_crowd(redis: Redis) -> None:
    names = [f"a-{number}" for number in range(delivery_wakeups.CROWD_SIZE)]
    send(redis, "I_a", *names)
    assert (waiting(redis, CONTROL), waiting(redis, CROWD)) == (names, [])


def test_what_a_worker_has_taken_is_not_given_to_a_crowd(redis: Redis) -> None:
    send(redis, "I_a", *(f"a-{number}" for number in range(10)))
    taken = queues.take_more(redis, CONTROL, INGEST)
    send(redis, "I_a", "a-10", "a-11")
    assert len(taken) == 10
    assert waiting(redis, CROWD) == ["a-10", "a-11"]
