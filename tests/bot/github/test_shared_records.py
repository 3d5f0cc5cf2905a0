"""What processes share of GitHub's limits: in files of one home, and in the Redis of several hosts."""

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from redis.client import Pipeline

from bot.github import rate_limit
from bot.github.client import Hub
from bot.github.errors import UnavailableError
from bot.github.rate_limit import CONTENTS_PER_MINUTE, FRESH_SHARE, POINTS_PER_MINUTE, ApiBudget
from bot.github.shared_records import (
    KEPT_S,
    FileRecords,
    RedisRecords,
    SharedRecords,
    home_records,
    open_records,
)
from bot.github.transport import CallSlots
from bot.system.clock import utc_now
from bot.system.config import Config

LATE_S = 1000


class LatePipeline(Pipeline):
    """What a Redis sees whose host's clock is late: it says so, and no other clock counts."""

    def execute(self, raise_on_error: bool = True) -> list[Any]:
        record, (seconds, micros) = super().execute(raise_on_error)
        return [record, (seconds - LATE_S, micros)]


class LateRedis(Redis):
    """See LatePipeline."""

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> Pipeline:
        return LatePipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)


def one_more(record: bytes, _now_s: float) -> tuple[bytes, int]:
    count = int(record or b"0") + 1
    return str(count).encode(), count


@pytest.fixture(params=["file", "redis"])
def records(request: pytest.FixtureRequest, tmp_path: Path) -> SharedRecords:
    if request.param == "file":
        return FileRecords(tmp_path / "shared", utc_now)
    return RedisRecords(request.getfixturevalue("redis"))


def test_every_change_counts_whoever_makes_it_at_the_same_time(records: SharedRecords) -> None:
    with ThreadPoolExecutor(8) as pool:
        counted = list(pool.map(lambda _: records.change("n", one_more), range(120)))
    assert sorted(counted) == list(range(1, 121))
    assert records.read("n")[0] == b"120"
    assert records.read("m")[0] == b""


def test_together_they_spend_what_one_may(records: SharedRecords) -> None:
    api_budget, other = (ApiBudget(records, "App 7 at acme") for _ in range(2))
    with ThreadPoolExecutor(6) as pool:
        takers = [partial(budget.take, points=0, creates=True) for budget in (api_budget, other)] * 60
        waits = list(pool.map(lambda take: take(), takers))
    known = CONTENTS_PER_MINUTE * (1 - FRESH_SHARE * records.forgets)
    assert sum(wait_s == 0 for wait_s in waits) == known
    api_budget.close(300)
    assert 290 < other.take(points=1, creates=False) <= 300


def test_the_time_is_the_redis_own(redis: Redis) -> None:
    late = RedisRecords(LateRedis(connection_pool=redis.connection_pool))
    assert abs(late.read("x")[1] - (time.time() - LATE_S)) < LATE_S / 2
    budget = ApiBudget(late, "App 7 at acme")
    budget.take(points=5, creates=True)
    (second,) = budget.read_usage()[0].points
    assert second < time.time() - LATE_S / 2


def test_a_redis_that_lost_everything_lets_half_a_minute_be_spent_again_at_most(redis: Redis) -> None:
    budget = ApiBudget(RedisRecords(redis), "App 7 at acme")
    spent = 0
    for _ in range(2):
        redis.flushall()
        while budget.take(points=5, creates=True) == 0:
            spent += 1
    assert spent == CONTENTS_PER_MINUTE
    redis.flushall()
    points = 0
    while budget.take(points=5, creates=False) == 0:
        points += 5
    assert points == POINTS_PER_MINUTE / 2


def test_what_nobody_uses_is_forgotten(redis: Redis) -> None:
    RedisRecords(redis).change("n", one_more)
    (key,) = redis.keys()
    assert 0 < redis.ttl(key) <= KEPT_S


def test_while_the_shared_redis_is_away_nothing_is_spent(
    redis: Redis, redis_server: "subprocess.Popen[bytes]"
) -> None:
    budget = ApiBudget(RedisRecords(redis), "App 7 at acme")
    assert budget.take(points=1, creates=False) == 0
    redis_server.kill()
    redis_server.wait(60)
    with pytest.raises(UnavailableError, match="CARDINAL_REDIS_URL"):
        budget.take(points=1, creates=False)


def test_who_names_a_redis_shares_it(config: Config) -> None:
    assert open_records(config, utc_now) == home_records(config, utc_now)
    named = replace(config, redis_url="redis://127.0.0.1:1/0")
    assert isinstance(open_records(named, utc_now), RedisRecords)


def test_a_hub_at_another_owner_shares_records_and_the_places_of_calls(config: Config) -> None:
    named = replace(config, redis_url="redis://127.0.0.1:1/0")
    hub = Hub(named, utc_now)
    there = hub.at("umbrella")
    assert there.records is hub.records
    assert {wire._slots.everywhere for wire in (hub._app, hub._installed, there._installed)} == {hub.records}
    assert Hub(config, utc_now)._installed._slots.everywhere is None, "one host has locked files"


def test_hosts_share_the_places_of_calls_and_a_dead_hosts_come_back(
    records: SharedRecords, tmp_path: Path
) -> None:
    call_slots, slots = (
        CallSlots(tmp_path / host, records, "calls", most=9, most_everywhere=2, wait_s=0.1) for host in "ab"
    )
    refused = pytest.raises(UnavailableError, match="2 calls are under way on all hosts")
    with call_slots.hold("a"), slots.hold("b"), refused, call_slots.hold("c"):
        pass
    with call_slots.hold("a"), slots.hold("b"):
        pass
    records.change("calls", lambda *_: (b"{", None))  # damaged: nobody holds any
    with call_slots.hold("a"):
        pass
    dead = b'{"x": %d, "y": %d}' % (time.time() - 1, time.time() + 99)
    records.change("calls", lambda *_: (dead, None))
    with call_slots.hold("the place of x"), refused, slots.hold("y still calls"):
        pass


def test_a_moment_of_a_window_is_told_by_the_keepers_time(tmp_path: Path) -> None:
    budget = ApiBudget(FileRecords(tmp_path, lambda: datetime(2026, 1, 1, tzinfo=UTC)), "App 7 at acme")
    budget.take(points=3, creates=True)
    usage, now_s = budget.read_usage()
    assert rate_limit.until_now(usage.points, 60, now_s) == 3
