"""Faults on demand: what shall go wrong, and how often."""

import re
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Any

from forge.errors import UnprocessableError

EVERYTHING = re.compile("")


@dataclass(slots=True)
class DeliveryFaults:
    """What goes wrong with webhook deliveries; counts go down as they are used."""

    duplicate: int = 0
    lose: int = 0
    reverse: int = 0
    delay_s: float = 0.0


@dataclass(slots=True)
class ApiFault:
    """One kind of bad answer; `after` means that the request is carried out all the same.

    An answer is held for `hold_s` seconds, or until the faults are cleared; status 0 is the true answer.
    """

    path: re.Pattern[str]
    status: int = 0
    count: int = 1
    method: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    after: bool = False
    cut: bool = False
    body: re.Pattern[str] = EVERYTHING
    hold_s: float = 0.0
    holding: int = 0


class Faults:
    """The faults that wait to happen; has a lock of its own, so that asking never waits for the store."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._released = Event()
        self.clear()

    def __reduce__(self) -> tuple[type["Faults"], tuple[()]]:
        return Faults, ()  # nothing goes wrong in a copy

    def clear(self) -> None:
        """Let nothing go wrong any more; answers that are held go out."""
        self._released.set()
        self._released = Event()
        self.deliveries = DeliveryFaults()
        self.api: list[ApiFault] = []
        self.graphql_rate_limited = 0
        self.secondary = 0
        self.latency_s = 0.0

    def load(self, wanted: dict[str, Any]) -> None:
        """Add the faults of a control request; raises UnprocessableError for a key or value that is wrong."""
        known = {"deliveries", "api", "graphql_rate_limited", "secondary", "latency_s"}
        unknown = sorted(set(wanted) - known)
        if unknown:
            raise UnprocessableError(f"Unknown faults: {', '.join(unknown)}")
        try:
            with self._lock:
                for name, value in wanted.get("deliveries", {}).items():
                    kept = getattr(self.deliveries, name)
                    setattr(self.deliveries, name, type(kept)(value))
                for entry in wanted.get("api", []):
                    found = {name: re.compile(entry[name]) for name in ("path", "body") if name in entry}
                    self.api.append(ApiFault(**{**entry, **found}))
                self.graphql_rate_limited += int(wanted.get("graphql_rate_limited", 0))
                self.secondary += int(wanted.get("secondary", 0))
                self.latency_s = float(wanted.get("latency_s", self.latency_s))
        except (AttributeError, KeyError, TypeError, ValueError, re.error) as error:
            raise UnprocessableError(f"Bad fault: {error}") from error

    def take_api(self, method: str, path: str, body: str = "") -> ApiFault | None:
        """Return the fault for this request and use it up; `None` when all shall go well."""
        with self._lock:
            for fault in self.api:
                meant = fault.method in (None, method) and fault.path.search(path) and fault.body.search(body)
                if fault.count > 0 and meant:
                    fault.count -= 1
                    return fault
        return None

    def hold(self, fault: ApiFault) -> None:
        """Wait as long as the fault holds its answer; `holding` counts who waits."""
        with self._lock:
            fault.holding, released = fault.holding + 1, self._released
        released.wait(fault.hold_s)
        with self._lock:
            fault.holding -= 1

    def take(self, name: str) -> bool:
        """Return whether one of the counted faults is due, and use it up."""
        with self._lock:
            left = int(getattr(self, name))
            setattr(self, name, max(0, left - 1))
            return left > 0

    def take_delivery(self, name: str) -> bool:
        """Return whether one of the counted delivery faults is due, and use it up."""
        with self._lock:
            left = int(getattr(self.deliveries, name))
            setattr(self.deliveries, name, max(0, left - 1))
            return left > 0
