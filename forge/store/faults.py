"""Faults on demand, each with a count."""

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from threading import Event, Lock
from typing import Any

from forge.errors import UnprocessableError

EVERYTHING = re.compile("")


@dataclass(slots=True)
class DeliveryFaults:
    """Faults of webhook deliveries; counts go down as they are used."""

    duplicate: int = 0
    lose: int = 0
    reverse: int = 0
    delay_s: float = 0.0


@dataclass(slots=True)
class Delays:
    """How long Apps meet a GitHub that is behind, in seconds at most; each wait is drawn from `seed`.

    `tokens_s`: a new installation token is refused. `heads_s`: a pushed commit is no head for a pull request.
    `nodes_s`: GraphQL does not find a new issue. `reads_s`: every other read may come from a copy that old.
    Sources: github.com/octokit/auth-app.js (README, on replication), and those of `refusals.toml`.
    """

    seed: int = 0
    tokens_s: float = 0.0
    heads_s: float = 0.0
    nodes_s: float = 0.0
    reads_s: float = 0.0
    met: dict[str, int] = field(default_factory=dict)  # how often each was met
    _random: Random = field(default_factory=Random)  # noqa: S311 - faults are drawn, no secrets
    _drawn: dict[tuple[str, str], float] = field(default_factory=dict)

    def load(self, wanted: dict[str, Any]) -> None:
        """Take other delays and begin the draws of their seed; raises ValueError for an unknown one."""
        unknown = sorted(set(wanted) - {"seed", "tokens_s", "heads_s", "nodes_s", "reads_s"})
        if unknown:
            raise ValueError(f"unknown delays: {', '.join(unknown)}")
        for name, value in wanted.items():
            setattr(self, name, type(getattr(self, name))(value))
        self._random, self._drawn = Random(self.seed), {}  # noqa: S311  no secret

    def is_behind(self, name: str, thing: str, made_at: datetime, now: datetime) -> bool:
        """Return whether GitHub does not know yet what was made then; one of the delays' names."""
        most_s = {"tokens": self.tokens_s, "heads": self.heads_s, "nodes": self.nodes_s}[name]
        if most_s <= 0:
            return False
        wait_s = self._drawn.setdefault((name, thing), self._random.uniform(0, most_s))
        behind = now < made_at + timedelta(seconds=wait_s)
        self.met[name] = self.met.get(name, 0) + behind
        return behind

    def draw_age_s(self) -> float:
        """Return how long the next copy answers reads."""
        return self._random.uniform(0, self.reads_s)

    def chooses_copy(self) -> bool:
        """Return whether the next read comes from the copy."""
        chosen = self._random.random() < 1 / 2
        self.met["reads"] = self.met.get("reads", 0) + chosen
        return chosen


@dataclass(slots=True)
class ApiFault:
    """One kind of bad answer, for Apps or for `people`; with `after`, the request is carried out first.

    `answer` is its body, in GitHub's words; with status 200 the errors of GraphQL. An answer is held for
    `hold_s` seconds, or until the faults are cleared; status 0 is the true answer, in which `replace` has
    patterns, each with the text that comes in its place.
    """

    path: re.Pattern[str]
    status: int = 0
    count: int = 1
    method: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    after: bool = False
    cut: bool = False
    body: re.Pattern[str] = EVERYTHING
    people: bool = False
    hold_s: float = 0.0
    answer: dict[str, Any] | None = None
    replace: tuple[tuple[re.Pattern[str], str], ...] = ()
    holding: int = 0


class Faults:
    """The faults still to happen; they have a lock of their own, so that they never wait for the store's."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._released = Event()
        self.clear()

    def __reduce__(self) -> tuple[type["Faults"], tuple[()]]:
        return Faults, ()  # a copy has no faults

    def clear(self) -> None:
        """Remove all faults; held answers are sent."""
        self._released.set()
        self._released = Event()
        self.deliveries = DeliveryFaults()
        self.delays = Delays()
        self.api: list[ApiFault] = []
        self.graphql_rate_limited = 0
        self.secondary = 0
        self.latency_s = 0.0

    def load(self, wanted: dict[str, Any]) -> None:
        """Add the faults of a control request; raises UnprocessableError for a key or value that is wrong."""
        known = {"deliveries", "delays", "api", "graphql_rate_limited", "secondary", "latency_s"}
        unknown = sorted(set(wanted) - known)
        if unknown:
            raise UnprocessableError(f"Unknown faults: {', '.join(unknown)}")
        try:
            with self._lock:
                for name, value in wanted.get("deliveries", {}).items():
                    kept = getattr(self.deliveries, name)
                    setattr(self.deliveries, name, type(kept)(value))
                self.delays.load(wanted.get("delays", {}))
                for entry in wanted.get("api", []):
                    patterns = [name for name in ("path", "body") if name in entry]
                    made: dict[str, Any] = {name: re.compile(entry[name]) for name in patterns}
                    if "replace" in entry:
                        made["replace"] = tuple((re.compile(it), str(text)) for it, text in entry["replace"])
                    self.api.append(ApiFault(**{**entry, **made}))
                self.graphql_rate_limited += int(wanted.get("graphql_rate_limited", 0))
                self.secondary += int(wanted.get("secondary", 0))
                self.latency_s = float(wanted.get("latency_s", self.latency_s))
        except (AttributeError, KeyError, TypeError, ValueError, re.error) as error:
            raise UnprocessableError(f"Bad fault: {error}") from error

    def take_api(self, method: str, path: str, body: str = "", *, people: bool = False) -> ApiFault | None:
        """Return the fault for this request and use it up; `None` without one."""
        with self._lock:
            for fault in self.api:
                if fault.people is not people:
                    continue
                fits = fault.method in (None, method) and fault.path.search(path) and fault.body.search(body)
                if fault.count > 0 and fits:
                    fault.count -= 1
                    return fault
        return None

    def hold(self, fault: ApiFault) -> None:
        """Wait as long as the fault holds its answer; `holding` counts the waiting requests."""
        with self._lock:
            fault.holding, released = fault.holding + 1, self._released
        released.wait(fault.hold_s)
        with self._lock:
            fault.holding -= 1

    def take(self, name: str) -> bool:
        """Return whether one of the counted faults, of deliveries too, is due, and use it up."""
        with self._lock:
            counted = self if hasattr(self, name) else self.deliveries
            left = int(getattr(counted, name))
            setattr(counted, name, max(0, left - 1))
            return left > 0
