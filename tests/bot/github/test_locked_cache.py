"""A cache that threads share loses nothing and raises nothing, however they meet."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
from cachetools import Cache, LRUCache, TTLCache

from bot.github.locked_cache import LockedCache

THREADS, ROUNDS = 8, 2_000
TICKS = count()


@pytest.fixture
def eager() -> Iterator[None]:
    """Let threads take turns as often as Python can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.parametrize("inner", [TTLCache(8, 20, timer=lambda: next(TICKS)), LRUCache(8)])
def test_threads_meet_in_a_cache_without_an_error(inner: Cache[int, int], eager: None) -> None:
    cache = LockedCache[int, int](inner)

    def use(thread: int) -> None:
        for step in range(ROUNDS):
            key = (thread * 7 + step) % 24
            cache[key] = key
            assert cache.get(key) in (None, key)
            cache.drop(key + 1)
            if step % 50 == 0:
                cache.take_all()

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(use, range(THREADS)))
