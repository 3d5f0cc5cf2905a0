"""What a hundred programs at once get of the API, beside a board on which agents work."""

import http.client
import json
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figures import Figure, percentile
from tests.bench.live import EVENTS_PER_S, begin_run, say_on, web
from tests.bot.flows.opening import opened
from tests.bot.web.api.program import Program
from tests.bot.web.pages.world import PUBLIC, Pages

CLIENTS, FEW_CLIENTS = 100, 5
EACH, FEW_EACH = 20, 2
PEOPLE = "alice", "bob"  # one account may have 50 tokens
RUNS = 4
PATIENCE_S = 120
READS = "/api/v1/jobs?state=working", "/api/v1/boards/acme/1", "/api/v1/runs/{run}", "/api/v1/inbox"


def measure(*, quick: bool) -> Iterator[Figure]:
    """Let programs with a token each read in turn as fast as they are answered, while runs go on."""
    clients, each = (FEW_CLIENTS, FEW_EACH) if quick else (CLIENTS, EACH)
    with (
        tempfile.TemporaryDirectory(prefix="cardinal-bench-") as folder,
        opened(Path(folder), public_url=PUBLIC) as cardinal,
    ):
        pages = Pages.over(cardinal)
        run_ids = [begin_run(pages) for _ in range(RUNS)]
        tokens = [Program(pages, PEOPLE[number % 2]).token for number in range(clients)]
        took_ms: list[float] = []
        with web(cardinal.services.config) as (_, port):
            paths = [path.format(run=run_ids[0]) for path in READS]
            _read(port, tokens[0], paths, len(paths), [])  # what every client needs is loaded before
            threads = [
                threading.Thread(target=_read, args=(port, token, paths, each, took_ms)) for token in tokens
            ]
            start = time.perf_counter()
            for thread in threads:
                thread.start()
            number = 0
            while any(thread.is_alive() for thread in threads):
                say_on(cardinal, run_ids[number % RUNS])
                number += 1
                threads[-1].join(1 / EVENTS_PER_S)
            took_s = time.perf_counter() - start
    note = f"{clients} clients at once, a token and {each} reads each; {RUNS} runs at work"
    rate = len(took_ms) / took_s
    yield Figure("api_clients_rate", rate, "requests/s", note=note, least=500, raw="raw_web_server")
    yield Figure(
        f"api_clients_p95_{clients}", percentile(took_ms, 0.95), "ms", 250, note, raw="raw_web_server_p99"
    )
    yield Figure("api_clients_unanswered", clients * each - len(took_ms), "requests", 0)


def _read(port: int, token: str, paths: list[str], count: int, took_ms: list[float]) -> None:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    for number in range(count):
        start = time.perf_counter()
        line.request("GET", paths[number % len(paths)], headers={"Authorization": f"Bearer {token}"})
        answer = line.getresponse()
        document = json.loads(answer.read())
        if answer.status != 200:
            raise RuntimeError(f"{paths[number % len(paths)]} was answered with {answer.status}: {document}")
        took_ms.append((time.perf_counter() - start) * 1000)
    line.close()
