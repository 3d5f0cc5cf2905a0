"""What each page costs the server and the reader's line on a large ledger, and what polling would cost."""

import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.reactor import reactor
from ledger.event import Event
from ledger.events.board import CardSeen
from ledger.events.conversation import PersonSaid
from ledger.events.instruction import InstructionsStacked, LayerTold
from ledger.events.run import (
    AgentSaid,
    BriefingMade,
    CommandChecked,
    FinalReported,
    PlanProposed,
    PlanTicked,
    QuestionAsked,
    RunClaimed,
    RunEnded,
    RunParked,
    RunQueued,
    RunStepped,
    ToolUsed,
    UsageMetered,
)
from ledger.ids import BoardId, CardId, QuestionId, RunId
from ledger.log import event_store
from ledger.queue import hosts
from ledger.states import CardState, Ending, RunKind, RunState
from rules.policy.column import ColumnPolicy
from tests.bench.figures import Figure, percentile
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.opening import opened
from tests.bot.web.pages.world import PUBLIC, Browser, Pages

CARDS, FEW_CARDS = 10_000, 300
MANY_CARDS, OFTEN_OPENED = 50_000, ("inbox", "board", "card", "run", "runs")  # with a million events
RUN_EVERY = 5  # each fifth card has a run
WORK = 24  # rounds of an agent's work in each run, of four events each
REPEATS, FEW_REPEATS = 20, 2
BATCH, DAYS = 1_000, 80  # events in one transaction, and over how long they happened
HOSTS = 20
VIEWERS, POLLED_S = 200, 5  # as many as the streams of tests.bench.live
MAX_MS, MANY_MAX_MS, MAX_KB = 150, 100, 100
PEOPLE = (*(f"person{number}" for number in range(12)), "alice", "bob")
LABELS = (*(f"area/part-{number}" for number in range(40)), "bug", "feature", "good first issue")
S, C = RunState, CardState
# Where cards stand, and what becomes of their runs.
PLACES = (
    ("Tasks", C.DRAFT), ("Tasks", C.DRAFT), ("Planning", C.DISCUSSING), ("In Progress", C.QUEUED),
    ("In Progress", C.NEEDS_INPUT), ("In Progress", C.FAILED), ("Review", C.IN_REVIEW), ("QA", C.APPROVED),
    ("Done", C.DONE), ("Done", C.DONE), ("Done", C.DONE),
)  # fmt: skip
SETTINGS = ColumnPolicy.model_validate({"archetype": "execution"}).to_json()


@dataclass(frozen=True, slots=True)
class _PageCost:
    """Milliseconds of one answer in twenty, those of the processor for a usual one, and its size."""

    ms: float
    cpu_ms: float
    size_bytes: int


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure every page on a large ledger, then those that are opened most on one of a million events."""
    if quick:
        yield from _measure(FEW_CARDS, _paths(FEW_CARDS), MAX_MS, FEW_REPEATS)
        return
    yield from _measure(CARDS, _paths(CARDS), MAX_MS, REPEATS)
    paths = _paths(MANY_CARDS)
    yield from _measure(MANY_CARDS, {name: paths[name] for name in OFTEN_OPENED}, MANY_MAX_MS, REPEATS)


def _measure(size: int, paths: Mapping[str, str], most_ms: float, repeats: int) -> Iterator[Figure]:
    """Fill a ledger; load each page again and again as somebody who may see all of it."""
    with (
        tempfile.TemporaryDirectory(prefix="cardinal-bench-") as folder,
        opened(Path(folder), public_url=PUBLIC) as cardinal,
    ):
        events = fill(cardinal, size)
        note = f"{size:,} cards, {events:,} events, {size // RUN_EVERY:,} runs"
        note = f"{note}; {repeats} loads without a network"
        pages = Pages.over(cardinal)
        _keep_work(pages, RunId(f"r{size}"))
        alice = pages.browser("alice")
        for name, path in paths.items():
            cost = _cost(alice, path, repeats)
            yield Figure(f"page_{name}_{size}", cost.ms, "ms", most_ms, note)
            yield Figure(f"page_{name}_kb_{size}", cost.size_bytes / 1000, "kB", MAX_KB)
            if name == "run" and size != MANY_CARDS:
                yield from _polling(cost)


def _paths(size: int) -> dict[str, str]:
    """Return the pages by name, each as full as it gets."""
    card, board = "/cards/acme/shop/999999", "/boards/acme/1"
    return {
        "inbox": "/",
        "inbox_filtered": "/?label=bug&search=card+says",
        "inbox_lane": "/?lane=Working",
        "board": board,
        "board_filtered": f"{board}?person=bob&search=does",
        "board_column": f"{board}?column=Done&page=20",
        "card": card,
        "card_activity": f"{card}?zoom=activity",
        "run": f"/runs/r{size}",
        "runs": "/runs",
        "changes": f"/runs/r{size}/changes",
        "briefing": f"/runs/r{size}/briefing",
        "artifacts": f"/runs/r{size}/artifacts",
        "money": "/money?days=90",
        "health": "/health",
        "hosts": "/hosts",
        "policy": "/policy/acme/1",
        "notices": "/notices",
        "tokens": "/tokens",
    }


def _keep_work(pages: Pages, run_id: RunId) -> None:
    """Let the run have files, a change of 200 files, and a briefing of three pages."""
    for number in range(100):
        pages.keep(run_id, f"check-{number}.log", "log", f"{number} passed\n")
    pages.keep(run_id, f"{pages.cardinal.run(run_id).branch}.patch", "patch", "".join(map(_diff, range(200))))
    layer_told = LayerTold(
        "column", "instructions", "the board's policy", "", "d" * 64, False, "Do this. " * 500
    )
    briefed = BriefingMade(run_id, "Do what the card says. " * 500, "d" * 64, ())
    with event_store.writing(pages.cardinal.services.engine) as db:
        stacked = InstructionsStacked(run_id, "d" * 64, (layer_told,))
        event_store.append(db, stacked, briefed, at=pages.cardinal.clock())


def _diff(number: int) -> str:
    name = f"src/module_{number}.py"
    lines = "".join(f"-old {line}\n+new {line}\n" for line in range(20))
    return f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -1,20 +1,20 @@\n{lines}"


def _cost(reader: Browser, path: str, repeats: int) -> _PageCost:
    took, cpu = [], []
    for _ in range(repeats + 1):
        start, used = time.perf_counter(), time.process_time()
        answer = reader.get(path)
        took.append((time.perf_counter() - start) * 1000)
        cpu.append((time.process_time() - used) * 1000)
        if answer.status_code != 200:
            raise RuntimeError(f"{path} was answered with {answer.status}")
    return _PageCost(percentile(took[1:], 0.95), statistics.median(cpu[1:]), len(answer.data))


def _polling(run: _PageCost) -> Iterator[Figure]:
    """Reckon what the run's page would cost if each viewer loaded it again and again, beside `live_*`."""
    note = (
        f"{VIEWERS} viewers, each loads the whole page of a run every {POLLED_S} s; beside live_cpu_{VIEWERS}"
    )
    loads_per_s = VIEWERS / POLLED_S
    yield Figure(f"polling_cpu_{VIEWERS}", loads_per_s * run.cpu_ms / 10, "% of one core", note=note)
    yield Figure(f"polling_sent_{VIEWERS}", loads_per_s * run.size_bytes / 1e6, "MB/s", note=note)


def fill(cardinal: Cardinal, size: int) -> int:
    """Append the history of so many cards; return how many events there are."""
    engine, board_id = cardinal.services.engine, cardinal.board_id
    history = list(_history(board_id, size))
    for first in range(0, len(history), BATCH):
        cardinal.clock.forward(DAYS * 86_400 * BATCH / len(history))
        with event_store.writing(engine) as db:
            event_store.append(db, *history[first : first + BATCH], at=cardinal.clock())
    with event_store.writing(engine) as db:
        last = event_store.last_seq(db)
        event_store.advance_cursor(
            db, reactor.READER, before=event_store.position(db, reactor.READER), after=last
        )
        for number in range(HOSTS):
            hosts.beat(db, f"host-{number}", slots=4, labels=("linux", "large"), version="1.0")
    return last


def _history(board_id: BoardId, size: int) -> Iterator[Event]:
    for number in range(size):
        column, state = PLACES[number % len(PLACES)]
        card_id, repository = CardId(f"c{number}"), "acme/board" if number % 10 == 9 else "acme/shop"
        labels = tuple({LABELS[number % len(LABELS)], LABELS[number * 7 % len(LABELS)]})
        yield CardSeen(
            card_id, board_id, f"I{number}", repository, 1_000 + number, f"Card {number} does what it says",
            "What is wanted, and why. " * 40, "ann", column, state, labels=labels,
            by=PEOPLE[number % len(PEOPLE)],
        )  # fmt: skip
    for number in range(1, size // RUN_EVERY):
        card = number * RUN_EVERY
        yield from _run(RunId(f"r{number}"), CardId(f"c{card}"), 1, PLACES[card % len(PLACES)][1])
    yield from _long_story(board_id, size)


def _run(
    run_id: RunId, card_id: CardId, attempt: int, state: CardState, rounds: int = WORK
) -> Iterator[Event]:
    """A run as its card's state has it: waiting, stopped at a question, failed, or done."""
    by = PEOPLE[len(run_id + card_id) * attempt % len(PEOPLE)]
    yield RunQueued(
        run_id, card_id, attempt, RunKind.FIRST if attempt == 1 else RunKind.RETRY, "In Progress",
        "acme/shop", f"cardinal/{card_id}", "scripted", by, "", SETTINGS, True,
    )  # fmt: skip
    if state is C.QUEUED:
        return
    yield RunClaimed(run_id, 1, "worker-1", "host-1")
    yield RunStepped(run_id, S.CLAIMED, S.PREPARING)
    yield RunStepped(run_id, S.PREPARING, S.PLANNING)
    yield PlanProposed(run_id, 1, "Change it in three steps", ("Read it", "Change it", "Test it"))
    yield RunStepped(run_id, S.PLANNING, S.WORKING)
    yield from _work(run_id, rounds)
    if state is C.NEEDS_INPUT:
        yield QuestionAsked(run_id, QuestionId(f"{run_id}-q1"), "agent", "Which one?", ("this", "that"))
        yield RunParked(run_id, "question")
        return
    yield RunStepped(run_id, S.WORKING, S.VALIDATING)
    yield CommandChecked(run_id, 1, "full", "pytest -q", 0, 4.5, "e" * 64, "\x1b[32mpassed\x1b[0m\n" * 60)
    if state is C.FAILED:
        yield RunEnded(run_id, Ending.FAILED, "validation", "the tests fail", "validating")
        return
    yield RunStepped(run_id, S.VALIDATING, S.PUBLISHING)
    yield FinalReported(run_id, "It does what its title says. " * 8, ("a.py: changed",) * 5, ("look",), ())
    yield RunEnded(run_id, Ending.SUCCEEDED, "succeeded", "", "publishing")


def _work(run_id: RunId, rounds: int) -> Iterator[Event]:
    for number in range(rounds):
        yield AgentSaid(run_id, f"Step {number}: I look at the module, then I change what it does. " * 3)
        yield ToolUsed(run_id, "bash", f"rg -n 'price' src/module_{number}.py | head -40", True)
        yield UsageMetered(run_id, 0.01, 1_000, 200, 1, 2.0)
        yield PlanTicked(run_id, number % 3 + 1)


def _long_story(board_id: BoardId, size: int) -> Iterator[Event]:
    """A card with what fills its pages: a long talk and twelve runs, the last of them much longer."""
    card_id, state = CardId("long"), C.IN_REVIEW
    yield CardSeen(
        card_id,
        board_id,
        "I-long",
        "acme/shop",
        999_999,
        "A long story",
        "Body. " * 900,
        "ann",
        "Review",
        state,
    )
    for number in range(200):
        yield PersonSaid(card_id, number + 1, "issue", "ann", True, "A remark about what is wanted. " * 30)
    for attempt in range(1, 12):
        yield from _run(RunId(f"r{size + attempt}"), card_id, attempt, C.FAILED)
    yield from _run(RunId(f"r{size}"), card_id, 12, state, rounds=WORK * 20)
