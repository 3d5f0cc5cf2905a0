"""Plays the work of `tests.bench.peers` on hermes-agent's board: a program of its own, with that package.

python peer_hermes.py SIZE READY_EVERY REPEATS CLAIMS      prints the figures as one JSON object
"""

import importlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path


def main(size: int, ready_every: int, repeats: int, claims: int) -> dict[str, float]:
    """Return milliseconds of idle ticks and of a listing, and claims a second, of `size` tasks."""
    board = importlib.import_module("hermes_cli.kanban_db")
    db = board.connect(Path(os.environ["HERMES_KANBAN_HOME"], "kanban.db"))
    ready = []
    for n in range(size):
        waits = n % ready_every == 2
        title, body = f"Card {n} does what its title says", "What is wanted. " * 40
        task = board.create_task(db, title=title, body=body, assignee="dev", triage=not waits)
        if waits:
            ready.append(task)
    for task in ready[:2]:
        board.claim_task(db, task)

    def tick() -> None:
        result = board.dispatch_once(db, spawn_fn=lambda *_args, **_named: None, max_in_progress=2)
        assert not result.spawned, result

    def change() -> None:
        board.add_comment(db, ready[-1], "ann", "Yes.")

    figures = {
        "tick": _median_ms(tick, repeats),
        "tick_after_change": _median_ms(tick, repeats, change),
        "listing": _median_ms(lambda: board.list_tasks(db), repeats),
    }
    claimed = ready[2 : 2 + claims]
    start = time.perf_counter()
    for task in claimed:
        assert board.claim_task(db, task) is not None
    return figures | {"claims": len(claimed) / (time.perf_counter() - start)}


def _median_ms(ask: Callable[[], object], repeats: int, before: Callable[[], object] = lambda: None) -> float:
    ask()
    took = []
    for _ in range(repeats):
        before()
        start = time.perf_counter()
        ask()
        took.append((time.perf_counter() - start) * 1000)
    return statistics.median(took)


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:]))))
