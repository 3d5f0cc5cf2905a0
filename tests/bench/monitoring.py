"""What monitoring costs on a large ledger: one scrape of `/metrics`, and the trace of a run."""

import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bot.system.secret import Secret
from bot.traces.spans import make_spans
from ledger.log import event_store
from ledger.queries import run_trace
from tests.bench.figures import Figure, percentile
from tests.bench.pages import MAX_MS, fill
from tests.bot.flows.opening import opened
from tests.bot.web.serving import web_client

CARDS, FEW_CARDS = 50_000, 300
REPEATS, FEW_REPEATS = 50, 2
TOKEN = {"Authorization": "Bearer scrape"}


def measure(*, quick: bool) -> Iterator[Figure]:
    """Fill a ledger and scrape it again and again."""
    size, repeats = (FEW_CARDS, FEW_REPEATS) if quick else (CARDS, REPEATS)
    with tempfile.TemporaryDirectory(prefix="cardinal-bench-") as folder, opened(Path(folder)) as cardinal:
        events = fill(cardinal, size)
        config = replace(cardinal.services.config, metrics_token=Secret("scrape"))
        client = web_client(config, cardinal.services.engine, lambda _: True, cardinal.services.clock)
        took = []
        for _ in range(repeats):
            start = time.perf_counter()
            assert client.get("/metrics", headers=TOKEN).status_code == 200
            took.append(time.perf_counter() - start)
        note = f"{size:,} cards, {events:,} events; {repeats} scrapes without a network"
        yield Figure(f"metrics_scrape_{size}", percentile(took, 0.95) * 1000, "ms", MAX_MS, note)
        with event_store.reading(cardinal.services.engine) as db:
            ends = run_trace.list_ends(db, after=0, until=events, limit=repeats)
            start = time.perf_counter()
            spans = [make_spans(trace) for end in ends if (trace := run_trace.of_end(db, end))]
            took_ms = (time.perf_counter() - start) * 1000 / len(spans)
        note = f"read and made, not sent; {sum(map(len, spans)) / len(spans):.0f} spans"
        yield Figure(f"run_trace_{size}", took_ms, "ms", note=note)
