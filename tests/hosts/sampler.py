"""Sampler: compares the agents that live on each host with the leases of runs, several times a second."""

import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import psutil
from sqlalchemy import func, select
from sqlalchemy.exc import DBAPIError

from ledger.db.tables import leases
from ledger.log import event_store
from ledger.views.runs import runs
from tests.hosts.host import lives
from tests.hosts.site import LEASE_S, Site

EVERY_S = 0.2
AWAKE_S = 5.0  # after a host stood still: until its watchdog had its turn on a busy machine
_LEASES = (
    select(runs.c.host, func.max(leases.c.until))
    .where(leases.c.holder != "", leases.c.name == "run:" + runs.c.run_id)
    .group_by(runs.c.host)
)


@dataclass(slots=True)
class Sampler:
    """Follows a site in a thread of its own. Each host works on one run at once, so that one lease speaks for
    its agent. `faults` are sentences about agents without one.
    """

    site: Site
    faults: list[str] = field(default_factory=list)
    samples: int = 0
    most: dict[str, int] = field(default_factory=dict)
    _until: dict[str, datetime] = field(default_factory=dict)
    _blind_since: datetime | None = None
    _spared: dict[str, float] = field(default_factory=dict)
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> "Sampler":
        """Begin."""
        self._thread = threading.Thread(target=self._follow, name="sampler", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """End; raises AssertionError if there were agents without a lease."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(60)
        assert self.samples > 0
        assert not self.faults, "\n".join(self.faults[:20])

    def spare(self, host: str) -> None:
        """Say nothing of a host that stood still until a moment ago: nothing on it could act."""
        self._spared[host] = time.monotonic() + AWAKE_S

    def _follow(self) -> None:
        while not self._over.wait(EVERY_S):
            alive = {name: host.agents() for name, host in self.site.hosts.items()}
            at = datetime.now(UTC)
            self._read(at)
            self.samples += 1
            for name, agents in alive.items():
                self._judge(name, agents, at)

    def _read(self, at: datetime) -> None:
        """Read the leases after the agents were seen: a renewal that was committed by then is in them."""
        try:
            with event_store.reading(self.site.engine) as db:
                rows = {str(host): until for host, until in db.execute(_LEASES)}
        except DBAPIError:
            self._blind_since = self._blind_since or at
            return
        self._until, self._blind_since = rows, None

    def _judge(self, name: str, agents: list[psutil.Process], at: datetime) -> None:
        self.most[name] = max(self.most.get(name, 0), len(agents))
        until = self._until.get(name)
        if self._blind_since is not None:  # a renewal may have come just before the database fell silent
            until = max(filter(None, (until, self._blind_since + timedelta(seconds=LEASE_S))))
        if agents and (until is None or until < at) and time.monotonic() > self._spared.get(name, 0):
            left = [agent.pid for agent in agents if lives(agent)]  # it may have ended between the two looks
            if left:
                since = f"its lease was over at {until:%H:%M:%S.%f}" if until else "it has no lease"
                self._fault(f"{at:%H:%M:%S.%f} an agent works on {name}, pids {left}: {since}")

    def _fault(self, sentence: str) -> None:
        self.faults.append(sentence)
        print(sentence, flush=True)
