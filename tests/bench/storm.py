"""A thousand deliveries in full disorder, doubled and lost: do they end where the quiet order ends?"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figures import Figure, say
from tests.bot.flows.opening import opened
from tests.bot.sync.storm import play

SIZE, FEW = 1_000, 60
SEED = 7
COMPARED = {"view_cards": "cards", "view_messages": "comments", "view_runs": "runs", "outbox": "entries"}


def measure(*, quick: bool) -> Iterator[Figure]:
    """Play one storm, and count what differs at its end."""
    with tempfile.TemporaryDirectory(prefix="cardinal-bench-") as folder:
        root = Path(folder)
        with opened(root / "quiet") as cardinal:
            played = play(cardinal, root / "stormy", size=FEW if quick else SIZE, seed=SEED)
    differing = played.differing()
    for one in differing:
        say(f"  {one}")
    known = ", ".join(f"{played.quiet[name].total()} {word}" for name, word in COMPARED.items())
    note = f"{played.deliveries} deliveries, {played.sent} sent, {played.lost} lost, {played.sweeps} sweeps"
    yield Figure("storm_differences", len(differing), "parts of the state", 0, f"{note}; {known} compared")
    yield Figure(
        "storm_delivery", played.stormy_s / played.deliveries * 1000, "ms", note="stored and decided"
    )
    yield Figure("quiet_delivery", played.quiet_s / played.deliveries * 1000, "ms", note="the same in order")
