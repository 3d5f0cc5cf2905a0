"""A bounded cache that threads share: cachetools leaves the lock to its users."""

import threading
from typing import Generic, TypeVar

from cachetools import Cache

K = TypeVar("K")
V = TypeVar("V")


class LockedCache(Generic[K, V]):
    """One of cachetools' caches behind a lock."""

    def __init__(self, cache: Cache[K, V]) -> None:
        self._cache, self._lock = cache, threading.Lock()

    def get(self, key: K) -> V | None:
        """Return the value; None where it is not there, or not any more."""
        with self._lock:
            return self._cache.get(key)

    def __setitem__(self, key: K, value: V) -> None:
        with self._lock:
            self._cache[key] = value

    def drop(self, key: K) -> None:
        """Remove the value, if it is there."""
        with self._lock:
            self._cache.pop(key, None)

    def take_all(self) -> list[V]:
        """Remove all values, and return them."""
        with self._lock:
            values = list(self._cache.values())
            self._cache.clear()
            return values
