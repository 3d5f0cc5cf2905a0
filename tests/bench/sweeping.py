"""What the sweep costs of GitHub's hour, and how long a hundred lost deliveries stay lost."""

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.ingest import delivery
from bot.sync.sweep import sweep
from forge.store.registration import Delivery
from forge.web.gateway import Call
from ledger.ids import DeliveryId
from ledger.log import event_store
from ledger.queue import inbox
from tests.bench.calls import count, kind
from tests.bench.figures import Figure, say
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.opening import opened

SIZES, FEW = (100, 2_000), (50,)
HOUR_OF_SWEEPS = 60
BUDGET = 5_000  # points an hour, of the smallest installation
TWO_PER_CENT = BUDGET // 50
# Asked with the App's own key: GitHub counts these apart from the installation's.
OF_THE_APP = ("/app/", "/orgs/acme/installation")
WHAT = {
    "quiet": "one sweep a minute",
    "busy": "one sweep a minute, the board changes between any two; looking at what changed is not in it",
}
LOST, MAX_SWEEPS = 100, 10


def measure(*, quick: bool) -> Iterator[Figure]:
    """Sweep a board once a minute for an hour, quiet and busy; then lose deliveries."""
    for size in FEW if quick else SIZES:
        with (
            tempfile.TemporaryDirectory(prefix="cardinal-bench-") as folder,
            opened(Path(folder)) as cardinal,
        ):
            yield from _hours(cardinal, size)
    with tempfile.TemporaryDirectory(prefix="cardinal-bench-") as folder, opened(Path(folder)) as cardinal:
        yield from _recovery(cardinal)


@dataclass(slots=True)
class Hour:
    """What sixty sweeps cost, without the looks at what they found."""

    calls: list[Call] = field(default_factory=list)
    took_s: float = 0.0

    def spent(self, *, graphql: bool) -> int:
        """Return GraphQL's points, or the calls of REST; not what GitHub counts for the App itself."""
        calls = [call for call in self.calls if not call.path.startswith(OF_THE_APP)]
        return sum(call.cost for call in calls if (call.path == "/graphql") == graphql)


def _hours(cardinal: Cardinal, size: int) -> Iterator[Figure]:
    cardinal.forge.store.settings.rate_limit = 1_000_000
    for n in range(size):
        cardinal.draft(f"Idea {n}", "Tasks")
        cardinal.mail.clear()
    say(f"  learning {size} cards …")
    sweep(cardinal.services)
    while cardinal.serve_refreshes():
        pass
    for how in ("quiet", "busy"):
        cardinal.clock.forward(3600)
        hour = _hour(cardinal, busy=how == "busy")
        yield from _figures(hour, f"{how}_{size}", WHAT[how])


def _figures(hour: Hour, name: str, note: str) -> Iterator[Figure]:
    points, rest = hour.spent(graphql=True), hour.spent(graphql=False)
    yield Figure(f"sweep_points_an_hour_{name}", points, "points", TWO_PER_CENT, note)
    yield Figure(f"sweep_share_{name}", points / BUDGET * 100, "% of GraphQL's hour", 2, note)
    yield Figure(f"sweep_rest_share_{name}", rest / BUDGET * 100, "% of REST's hour", 2, note)
    yield Figure(f"sweep_calls_an_hour_{name}", len(hour.calls), "calls", note=note, parts=_parts(hour.calls))
    note = "the forge's own share is in it"
    yield Figure(f"sweep_{name}", hour.took_s / HOUR_OF_SWEEPS * 1000, "ms", note=note)


def _hour(cardinal: Cardinal, *, busy: bool) -> Hour:
    """Sweep once a minute; a busy board changes between any two sweeps."""
    calls, items = cardinal.forge.gateway.calls, cardinal.project.items
    hour = Hour()
    for n in range(HOUR_OF_SWEEPS):
        cardinal.clock.forward(60)
        if busy:
            cardinal.drag(items[-1 - n % 50], ("Planning", "Tasks")[n // 50 % 2])
            cardinal.mail.clear()
        calls.clear()
        start = time.perf_counter()
        sweep(cardinal.services)
        hour.took_s += time.perf_counter() - start
        hour.calls += calls
        while cardinal.serve_refreshes():
            pass
    return hour


def _recovery(cardinal: Cardinal) -> Iterator[Figure]:
    """Lose a hundred deliveries, and count until the last one was heard of and every card looked at."""
    items = [cardinal.draft(f"Card {n}", "Tasks") for n in range(LOST // 10)]
    for n in range(LOST - len(cardinal.mail)):
        cardinal.drag(items[n % len(items)], ("Planning", "Tasks", "Review")[n // len(items) % 3])
    lost = list(cardinal.mail)
    cardinal.mail.clear()
    for one in lost:
        one.status_code, one.status, one.delivered_at = 502, "failed to connect", cardinal.clock()
    cardinal.forge.gateway.calls.clear()
    start = time.perf_counter()
    sweeps = 0
    while missing := _missing(cardinal, lost):
        if sweeps == MAX_SWEEPS:
            raise RuntimeError(f"{len(missing)} of {len(lost)} lost deliveries never came")
        sweeps += 1
        cardinal.sweep()
        while cardinal.mail:
            one = cardinal.mail.popleft()
            cardinal.receive(one)
            delivery.ingest(cardinal.services, DeliveryId(one.guid))
        while cardinal.serve_refreshes():
            pass
    took_s = time.perf_counter() - start
    calls = list(cardinal.forge.gateway.calls)
    wrong = [item for item in items if cardinal.card(item).column != cardinal.column(item)]
    if wrong:
        raise RuntimeError(f"{len(wrong)} cards are not where the board has them")
    note = f"{len(lost)} deliveries, {sweeps} sweep(s); the first comes within CARDINAL_SWEEP_S"
    yield Figure("recovery_after_100_lost", took_s, "s", 30, note)
    yield Figure("recovery_calls_after_100_lost", len(calls), "calls", note=note, parts=_parts(calls))


def _parts(calls: Sequence[Call]) -> dict[str, float]:
    return count((kind(call.method, call.path, call.operation), 1) for call in calls)


def _missing(cardinal: Cardinal, lost: Sequence[Delivery]) -> list[str]:
    with event_store.reading(cardinal.services.engine) as db:
        return [one.guid for one in lost if not inbox.is_known(db, DeliveryId(one.guid))]
