"""How fast all views are folded again, by one process and by several, beside the bare reading of events."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

from sqlalchemy import Engine

from ledger.event import Event
from ledger.events.artifact import ArtifactKept
from ledger.events.board import CardMoved, CardSeen, CardStateChanged
from ledger.events.conversation import PersonSaid
from ledger.events.publication import EntryPublished
from ledger.events.run import (
    FinalReported,
    Progressed,
    RunClaimed,
    RunEnded,
    RunQueued,
    RunStepped,
    ToolUsed,
    UsageMetered,
    ValidationEnded,
)
from ledger.ids import CardId, EntryKey, RunId
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from ledger.states import CardState, Ending, RunKind, RunState
from tests.bench.figures import Figure
from tests.ledger.samples import BOARD, NOW, board_seen

EVENTS, QUICK = 200_000, 400
BATCH = 500
LIMIT_S = 1800
REBUILD = """
import sys
from ledger.lifecycle.again import fold_again
fold_again(sys.argv[1], lambda position, last: None, parallel_from=int(sys.argv[2]))
"""


def measure(*, quick: bool) -> Iterator[Figure]:
    """Rebuild a ledger of many cards that were worked on once, after its events were read and decoded."""
    count = QUICK if quick else EVENTS
    with tempfile.TemporaryDirectory(prefix="cardinal-bench-") as folder:
        url = f"sqlite:///{Path(folder) / 'ledger.db'}"
        engine = open_ledger(url)
        _fill(engine, count)
        raw = f"events_decoded_{count}"
        yield Figure(raw, count / _took(partial(_decode, engine)), "events/s", note="read, and not folded")
        engine.dispose()
        ways = (
            ("rebuild_serial", sys.maxsize, "by one process, in the ledger itself"),
            ("rebuild", 0, "by as many processes as there are processors"),
        )
        for name, least, note in ways[quick:]:
            rate = count / _took(partial(_rebuild, url, least))
            goal = 10_000 if least == 0 else None
            yield Figure(f"{name}_{count}", rate, "events/s", note=note, least=goal, raw=raw)


def _took(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _rebuild(url: str, least: int) -> None:
    """Rebuild in a process of its own, which can do nothing else with a ledger; its start counts."""
    subprocess.run((sys.executable, "-c", REBUILD, url, str(least)), check=True, timeout=LIMIT_S)


def _decode(engine: Engine) -> None:
    with event_store.reading(engine) as db:
        after = 0
        while page := event_store.read(db, after=after, limit=BATCH):
            after = page[-1].seq


def _fill(engine: Engine, count: int) -> None:
    with event_store.writing(engine) as db:
        event_store.append(db, board_seen(), at=NOW)
    events: list[Event] = []
    number, left = 0, count - 1
    while left:
        number += 1
        events += _story(number)
        if len(events) >= min(BATCH, left):
            with event_store.writing(engine) as db:
                event_store.append(db, *events[:left], at=NOW)
            left, events = left - len(events[:left]), []


def _story(number: int) -> Iterator[Event]:
    """A card that a run works on, in about the mix of kinds that the demo has."""
    card_id, run_id = CardId(f"c{number}"), RunId(f"r{number}")
    where = ("acme/shop", number, f"Card {number}", "What is wanted. " * 10, "ann", "Tasks", CardState.DRAFT)
    yield CardSeen(card_id, BOARD, f"I{number}", *where)
    yield CardMoved(card_id, "Tasks", "In Progress", False, "ann", "write")
    place = ("In Progress", "acme/shop", f"cardinal/{card_id}", "scripted", "ann")
    yield RunQueued(run_id, card_id, 1, RunKind.FIRST, *place, "", "{}", False)
    yield CardStateChanged(card_id, CardState.DRAFT, CardState.QUEUED, "waits for a worker")
    yield RunClaimed(run_id, 1, "worker", "host")
    yield CardStateChanged(card_id, CardState.QUEUED, CardState.WORKING, "at work")
    steps = [RunState.CLAIMED, RunState.PREPARING, RunState.WORKING, RunState.VALIDATING, RunState.PUBLISHING]
    for before, after in pairwise(steps):
        yield RunStepped(run_id, before, after)
        yield UsageMetered(run_id, 0.01, 900, 90, 1, 2.5)
        yield ToolUsed(run_id, "edit", "src/shop.py", True)
        yield Progressed(run_id, f"It is {after}.")
        for act in ("face", "sticky"):
            yield EntryPublished(card_id, EntryKey(f"{act}:{run_id}:{after}"), act, f"C{number}", "d" * 64)
    yield PersonSaid(card_id, number, "issue", "ann", True, "Mind the rounding.")
    yield ValidationEnded(run_id, 1, "full", True, "c0", "b0")
    yield ArtifactKept(run_id, "check.log", "log", f"d{number}", 5_000)
    yield FinalReported(run_id, "It is done.", ("src/shop.py: rounds",), ("rounding",), ())
    yield RunEnded(run_id, Ending.SUCCEEDED, "", "", "publishing")
    yield CardStateChanged(card_id, CardState.WORKING, CardState.WORK_COMPLETE, "done")
