"""What the sweep costs of GitHub's hour, and how long a hundred lost deliveries stay lost."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bot import gathering
from bot.sweep import sweep
from ledger.ids import DeliveryId
from tests.bench.figures import Figure, say
from tests.bot.core.cardinal import Cardinal, opened

SIZES, FEW = (100, 2_000), (100, 300)
HOUR_OF_SWEEPS = 60
TWO_PER_CENT = 100  # of 5,000 points
LOST = 100


def measure(*, quick: bool) -> Iterator[Figure]:
    """Sweep a board once a minute for an hour, quiet and busy; then lose deliveries."""
    for size in FEW if quick else SIZES:
        with (
            tempfile.TemporaryDirectory(prefix="cardinal-bench-") as folder,
            opened(Path(folder)) as cardinal,
        ):
            yield from _hour(cardinal, size)
    with tempfile.TemporaryDirectory(prefix="cardinal-bench-") as folder, opened(Path(folder)) as cardinal:
        yield _recovery(cardinal)


def _hour(cardinal: Cardinal, size: int) -> Iterator[Figure]:
    cardinal.forge.store.settings.rate_limit = 1_000_000
    for n in range(size):
        cardinal.draft(f"Idea {n}", "Tasks")
        cardinal.mail.clear()
    say(f"  learning {size} cards …")
    sweep(cardinal.shop)
    while cardinal.answer_bells():
        pass
    cardinal.clock.forward(3600)
    quiet, took_s = _points(cardinal, busy=False)
    yield Figure(f"sweep_points_an_hour_quiet_{size}", quiet, "points", TWO_PER_CENT, "one sweep a minute")
    yield Figure(f"sweep_{size}", took_s / HOUR_OF_SWEEPS * 1000, "ms", note="the forge's own share is in it")
    cardinal.clock.forward(3600)
    busy, _ = _points(cardinal, busy=True)
    note = "the board changes between any two sweeps; looking at what changed is not in it"
    yield Figure(f"sweep_points_an_hour_busy_{size}", busy, "points", TWO_PER_CENT, note)


def _points(cardinal: Cardinal, *, busy: bool) -> tuple[int, float]:
    """Return the points of sixty sweeps, and their seconds."""
    calls, items = cardinal.forge.gateway.calls, cardinal.project.items
    points, took_s = 0, 0.0
    for n in range(HOUR_OF_SWEEPS):
        cardinal.clock.forward(60)
        if busy:
            cardinal.drag(items[-1 - n % 50], ("Planning", "Tasks")[n // 50 % 2])
            cardinal.mail.clear()
        calls.clear()
        start = time.perf_counter()
        sweep(cardinal.shop)
        took_s += time.perf_counter() - start
        points += sum(one.cost for one in calls if one.path == "/graphql")
        while cardinal.answer_bells():
            pass
    return points, took_s


def _recovery(cardinal: Cardinal) -> Figure:
    items = [cardinal.draft(f"Card {n}", "Tasks") for n in range(LOST // 10)]
    for n in range(LOST - len(cardinal.mail)):
        cardinal.drag(items[n % len(items)], ("Planning", "Tasks", "Review")[n // len(items) % 3])
    lost = list(cardinal.mail)
    cardinal.mail.clear()
    for one in lost:
        one.status_code, one.status, one.delivered_at = 502, "failed to connect", cardinal.clock()
    start = time.perf_counter()
    cardinal.sweep()
    for one in list(cardinal.mail):
        cardinal.receive(one)
        gathering.ingest(cardinal.shop, DeliveryId(one.guid))
    while cardinal.answer_bells():
        pass
    took_s = time.perf_counter() - start
    missing = {one.guid for one in lost} - {one.guid for one in cardinal.mail}
    if missing:
        raise RuntimeError(f"{len(missing)} of {len(lost)} lost deliveries were not asked for")
    note = f"{len(lost)} deliveries, from the sweep that finds them; that comes within CARDINAL_SWEEP_S"
    return Figure("recovery_after_100_lost", took_s, "s", 30, note)
