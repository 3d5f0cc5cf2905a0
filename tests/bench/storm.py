"""Ten thousand deliveries in full disorder, doubled and lost: do they end where the quiet order ends?"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figures import Figure
from tests.bot.core.cardinal import opened
from tests.bot.sweep.storm import play

SIZE, FEW = 10_000, 1_000
SEED = 7


def measure(*, quick: bool) -> Iterator[Figure]:
    """Play one storm, and count what differs at its end."""
    with tempfile.TemporaryDirectory(prefix="cardinal-bench-") as folder:
        root = Path(folder)
        with opened(root / "quiet") as cardinal:
            played = play(cardinal, root / "stormy", size=FEW if quick else SIZE, seed=SEED)
    differing = sum(played.quiet[name] != played.stormy[name] for name in played.quiet)
    note = f"{played.deliveries} deliveries, {played.sent} sent, {played.lost} lost, {played.sweeps} sweeps"
    yield Figure("storm_differences", differing, "parts of the state", 0, note)
    yield Figure(
        "storm_delivery", played.stormy_s / played.deliveries * 1000, "ms", note="stored and decided"
    )
    yield Figure("quiet_delivery", played.quiet_s / played.deliveries * 1000, "ms", note="the same in order")
