"""Troubles of a site, drawn from a seed: hosts and what they share are killed, stopped and cut off."""

import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tests.hosts import network
from tests.hosts.sampler import Sampler
from tests.hosts.site import Site

CALM_S = (5.0, 25.0)  # between two troubles
CUTS = ("database", "redis", "store", "forge")


@dataclass(frozen=True, slots=True)
class Trouble:
    """One kind of trouble: `begin`, and `end` after at most `most_s`."""

    name: str
    most_s: float
    begin: Callable[[], object]
    end: Callable[[], object]


def of_hosts(site: Site, sampler: Sampler, chance: random.Random) -> Trouble:
    """Draw what happens to one host next."""
    host = chance.choice((site.web, *site.hosts.values()))
    name, cuts = host.name, chance.sample(CUTS, chance.randint(1, len(CUTS)))

    def awake() -> None:
        sampler.spare(name)
        host.resume()

    return chance.choice(
        (
            Trouble(f"{name} has no power", 30, host.kill, host.start),
            Trouble(f"{name} stands still", 30, host.pause, awake),
            Trouble(f"{name} is unplugged", 30, lambda: network.unplug(name), lambda: network.plug(name)),
            Trouble(
                f"{name} is cut off from {', '.join(cuts)}",
                30,
                lambda: network.cut(name, cuts),
                lambda: network.mend(name, cuts),
            ),
        )
    )


def of_services(site: Site, _: Sampler, chance: random.Random) -> Trouble:
    """Draw what happens to one of the shared services next."""
    database, redis, store = site.services.database, site.services.redis, site.services.store
    return chance.choice(
        (
            Trouble("the database stands still", 12, database.pause, database.resume),
            Trouble("the database crashes", 8, database.kill, database.start),
            Trouble("redis stands still", 12, redis.pause, redis.resume),
            Trouble("redis crashes", 8, redis.kill, redis.start),
            Trouble("the store stands still", 20, store.pause, store.resume),
            Trouble("the store crashes", 20, store.kill, store.start),
        )
    )


DRAWS: Sequence[Callable[[Site, Sampler, random.Random], Trouble]] = (of_hosts, of_services)


@dataclass(slots=True)
class Troubles:
    """Both sorts, each in a thread of its own: one trouble of a sort at a time."""

    site: Site
    sampler: Sampler
    seed: int
    count: int = 0
    problem: BaseException | None = None
    _over: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> "Troubles":
        """Begin."""
        for number, draw in enumerate(DRAWS):
            chance = random.Random(f"{self.seed}-{number}")
            self._threads.append(threading.Thread(target=self._go, args=(draw, chance), daemon=True))
            self._threads[-1].start()
        return self

    def stop(self) -> None:
        """End; all is mended. Raises what went wrong with the troubles themselves."""
        self._over.set()
        for thread in self._threads:
            thread.join(120)
        if self.problem is not None:
            raise self.problem

    def _go(self, draw: Callable[[Site, Sampler, random.Random], Trouble], chance: random.Random) -> None:
        try:
            while not self._over.wait(chance.uniform(*CALM_S)):
                trouble = draw(self.site, self.sampler, chance)
                held_s = chance.uniform(0.5, trouble.most_s)
                say(f"{trouble.name} for {held_s:.1f} s")
                self.count += 1
                trouble.begin()
                try:
                    self._over.wait(held_s)
                finally:
                    trouble.end()
        except BaseException as problem:  # the thread's top: raised by `stop`
            self.problem = problem


def say(line: str) -> None:
    """Print a line with the time, for whoever reads the story's output."""
    print(f"{datetime.now(UTC):%H:%M:%S.%f} {line}", flush=True)
