"""Days at ten times the load of a team: fifty boards, and a scripted outcome for each of their runs.

GitHub and its people are a process of their own, so that Cardinal's memory is Cardinal's alone.
"""

import ctypes
import gc
import logging
import multiprocessing
import statistics
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

import psutil

from bot.admin import boards
from bot.scheduler import cleanup, ticker
from bot.state.served_boards import ServedBoard
from bot.sync import sweep
from bot.system import config
from forge.clock import Clock as ForgeClock
from forge.seed import load
from forge.store.board import Item, Project
from forge.web.server import Forge
from ledger.ids import RunId
from ledger.log import event_store
from ledger.queue import inbox, outbox, refresh_requests
from ledger.states import Ending
from ledger.views import runs
from tests.bench.boards import COLUMNS
from tests.bench.figures import Figure, say
from tests.bot.flows.cardinal import MAX_ROUNDS, Cardinal, Clock, UnsettledError
from tests.bot.flows.opening import open_services
from tests.bot.flows.people import People, issue_of
from tests.bot.flows.settings import POLICY, SETTINGS
from tests.faults.playing import STEPS
from tests.faults.worker import Worker

DAY_S, CORES = 86_400, 2
RUNS = 2_000  # of a whole day
EVERY_S = DAY_S / RUNS  # between two drags, whatever part of a day is played
Step = Callable[[Worker], None]
SCRIPT: tuple[Step, ...] = (
    Worker.say,
    Worker.say,
    Worker.spend,
    Worker.say,
    Worker.deliver,
)  # a step between two drags
MB = 1024 * 1024
LIMITS = ("limits: {runs: 4, runs_per_repository: 3}", "limits: {runs: 40, runs_per_repository: 40}")
TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table'"
COLUMNS_OF = "SELECT name FROM pragma_table_info(?)"
PAGES = (
    "SELECT (page_count - freelist_count) * page_size "
    "FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
)


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is played: on so many boards so many runs a day, for so many days."""

    boards: int
    runs: int
    days: int

    def __str__(self) -> str:
        return f"{self.boards} boards, {self.days} days with {self.runs} runs each"


QUICK, USUAL, WHOLE = Scale(2, 2, 2), Scale(50, 10, 30), Scale(50, RUNS, 1)


@dataclass(slots=True)
class Played:
    """What the days took: acts that were `late`; at the end of each day those `undone`, and the memory."""

    late: Counter[str] = field(default_factory=Counter)
    undone: Counter[str] = field(default_factory=Counter)
    memory_mb: list[float] = field(default_factory=list)
    cpu_s: float = 0.0
    events: int = 0
    sizes: dict[str, int] = field(default_factory=dict)  # bytes that each part of the ledger grew by


def measure(*, quick: bool) -> Iterator[Figure]:
    """Play days in a new process; their scale is in the notes."""
    scale = QUICK if quick else USUAL
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        played = pool.submit(play, scale).result()
    yield from figures(scale, played)


def figures(scale: Scale, played: Played) -> Iterator[Figure]:
    """Yield what the days show, each with its goal."""
    note = str(scale)
    late = played.late + played.undone
    yield Figure("day_late", late.total(), "acts", 0, note, parts=late)
    count = scale.runs * scale.days
    share = played.cpu_s / count * RUNS / (DAY_S * CORES) * 100
    yield Figure("day_processor", share, f"% of {CORES} cores", 10, f"{note}; as of {RUNS} runs a day")
    third = max(1, scale.days // 3)
    growth = statistics.mean(played.memory_mb[-third:]) - statistics.mean(played.memory_mb[third : 2 * third])
    ends = f"{played.memory_mb[0]:.0f} MB after the first day, {played.memory_mb[-1]:.0f} after the last"
    yield Figure("day_memory_growth", growth, "MB", 2, f"{note}; the last third beside the second; {ends}")
    size = sum(played.sizes.values())
    parts: Counter[str] = Counter()
    for name, bytes_more in played.sizes.items():
        parts["views" if name.startswith("view_") else name] += round(bytes_more / played.events)
    yield Figure("day_ledger", size / played.events, "bytes an event", 1_000, note, parts=+parts)
    yield Figure("day_events", played.events / count, "events a run", note=note)


def play(scale: Scale) -> Played:
    """Play these days: cards come and are dragged, runs work, people merge them, Cardinal tidies up."""
    played = Played()
    logging.getLogger("bot").setLevel(logging.ERROR)  # each wake-up is lost: the days have no Redis
    with tempfile.TemporaryDirectory(prefix="cardinal-bench-") as folder, _opened(Path(folder), scale) as day:
        before, begun = _sizes(day), day.count()
        for number in range(scale.days):
            start = time.process_time()
            played.late += day.play(scale)
            played.undone += day.list_undone()
            played.cpu_s += time.process_time() - start
            played.memory_mb.append(_memory_mb())
            say(f"  day {number + 1}: {played.memory_mb[-1]:.1f} MB, {time.process_time():.0f} s of CPU")
        after, played.events = _sizes(day), day.count() - begun
        played.sizes = {name: size - before.get(name, 0) for name, size in after.items()}
        assert day.count_successes() == scale.runs * scale.days
    return played


class Time(Clock):
    """A clock that stands still between two looks; the other process goes by what it showed last."""

    def __init__(self, shown: Any) -> None:
        super().__init__()
        self.stop()
        self._shown = shown
        self()

    def github(self) -> datetime:
        now = super().github()
        self._shown.value = now.timestamp()
        return now

    def forward(self, seconds: float) -> None:
        super().forward(seconds)
        self()


@dataclass
class Day(Cardinal):
    """Cardinal in this process, and `github`, which does an act of people in the other one."""

    github: Callable[..., Any] = field(kw_only=True)
    workers: dict[RunId, tuple[Worker, Iterator[Step]]] = field(default_factory=dict)  # and its next steps

    def play(self, scale: Scale) -> Counter[str]:
        """Play a day; return what was not done before the next drag."""
        start, late, dragged = self.clock(), Counter[str](), deque[str]()
        for number in range(scale.runs + len(SCRIPT) + 1):
            if number < scale.runs:
                dragged.append(self.github("start", number % scale.boards))
            if number > len(SCRIPT):
                self.github("finish", dragged.popleft())
            began = time.perf_counter()
            self._settle()
            self._work()
            self._settle()
            late["longer than until the next drag"] += time.perf_counter() - began > EVERY_S
            left_s = (start + timedelta(seconds=(number + 1) * EVERY_S) - self.clock()).total_seconds()
            late["put off until after the next drag"] += left_s < -EVERY_S
            self.clock.forward(max(0.0, left_s))
        self.clock.forward(max(0.0, DAY_S - (self.clock() - start).total_seconds()))
        for services in self.services.on_every_board():
            sweep.sweep(services)
        sweep.recover_deliveries(self.process)
        self._settle()
        cleanup.clean_up(self.process)
        return late

    def push(self, run_id: RunId, files: dict[str, bytes]) -> str:
        return str(self.github("push", self.run(run_id).branch, run_id, files))

    def count_successes(self) -> int:
        with event_store.reading(self.services.engine) as db:
            return sum(row.ending is Ending.SUCCEEDED for row in runs.newest(db, self.count()))

    def _settle(self) -> None:
        for _ in range(MAX_ROUNDS):
            for event, body, guid, action in self.github("deliver"):
                self.post(event, body, guid, action)
            ticker.tick(self.process, STEPS)
            busy = self.ingest() + self.serve_refreshes() + self.publish()
            if not busy and not self.wait_for_the_next_act():
                return
        raise UnsettledError(f"still busy after {MAX_ROUNDS} rounds")

    def _work(self) -> None:
        """Let new workers take the runs that may start, and each worker do its next step."""
        for run_id in self.ready():
            if worker := Worker.claim(self, run_id):
                self.workers[run_id] = worker, iter(SCRIPT)
        for run_id, (worker, steps) in list(self.workers.items()):
            if not worker.take(next(steps)):
                del self.workers[run_id], self.leases[run_id]

    def list_undone(self) -> Counter[str]:
        """Return how much of what was due is not done, by kind."""
        engine = self.services.engine
        with event_store.reading(engine) as db:
            return +Counter({
                "deliveries": len(inbox.due_deliveries(engine, limit=RUNS)) + len(inbox.list_quarantined(db)),
                "failures": len(self.failures),
                "cards to read": len(refresh_requests.list_requested_cards(db, limit=RUNS)),
                "entries": len(outbox.stuck(db, self.clock(), 0)),
                "runs": len(runs.list_held(db)) + len(self.ready()),
                "pull requests to merge": self.github("count_unmerged"),
            })  # fmt: skip


@contextmanager
def _opened(root: Path, scale: Scale) -> Iterator[Day]:
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    shown = spawn.Value("d", time.time())
    people = spawn.Process(target=_serve, args=(there, shown, root, scale.boards))
    people.start()
    there.close()
    try:
        url, app_id, key, numbers = here.recv()

        def ask(act: str, *given: object) -> Any:
            here.send((act, given))
            return here.recv()

        settings = {
            **SETTINGS,
            "CARDINAL_HOME": ".cardinal",
            "CARDINAL_GITHUB_URL": url,
            "CARDINAL_APP_ID": str(app_id),
            "CARDINAL_PRIVATE_KEY": key,
            "CARDINAL_BOARD": f"acme/{numbers[0]}",
            "CARDINAL_RUN_WORKERS": "40",
        }
        clock = Time(shown)
        services = open_services(config.read(settings, root), clock)
        nothing = cast("Any", None)  # forge and project are in the other process
        day = Day(nothing, cast("Project", nothing), services, clock, root / "scenarios", github=ask)
        for number in numbers:
            boards.add_board(services, ServedBoard("acme", number))
        sweep.sweep(services)
        day._settle()
        yield day
        services.engine.dispose()
    finally:
        people.terminate()
        people.join()


def _serve(pipe: Connection, shown: Any, root: Path, count: int) -> None:
    """Be GitHub with that many boards, and its people: do what the pipe asks for, until the process ends."""
    forge = Forge(root / "forge")
    forge.store.clock = ForgeClock(lambda: datetime.fromtimestamp(shown.value, UTC))
    forge.store.settings.rate_limit = 1_000_000
    world = load(forge.store, "demo", webhook="http://127.0.0.1:9/", secret="s")
    people = _People(forge, world.project)
    people.set_policy(POLICY.replace(*LIMITS))
    alice, acme = people.person("alice"), world.project.owner
    create = forge.store.projects.create
    people.boards += [create(acme, f"Board {n}", COLUMNS, actor=alice) for n in range(2, count + 1)]
    forge.store.deliveries.outlets[:] = [people.mail.append]
    forge.start()
    numbers = [board.number for board in people.boards]
    pipe.send((forge.url, world.app.id, world.private_key, numbers))
    while True:
        act, given = pipe.recv()
        pipe.send(getattr(people, act)(*given))


class _People(People):
    """GitHub's people, and what GitHub has to deliver."""

    def __init__(self, forge: Forge, project: Project) -> None:
        self.forge, self.project = forge, project
        self.boards = [project]
        self.mail: deque[Any] = deque()
        self._items: dict[str, Item] = {}

    def start(self, board: int) -> str:
        """Put a card on that board and drag it to In Progress; return its id."""
        self.project = self.boards[board]
        item = self.new(f"Card {len(self._items)}", "In Progress")
        self._items[item.node_id] = item
        return item.node_id

    def finish(self, item_id: str) -> None:
        """Approve the card's pull request, and drag the card to Done."""
        item = self._items[item_id]
        begins = f"cardinal/{issue_of(item).number}-"
        pulls = reversed(self.forge.store.pulls.all(self.repo))
        pull = next(pull for pull in pulls if pull.head_ref.startswith(begins))
        self.forge.store.reviews.submit(pull, "APPROVE", "", [], actor=self.person("bob"))
        self.drag(item, "Done")

    def count_unmerged(self) -> int:
        pulls = self.forge.store.pulls.all(self.repo)
        return len(self._items) - sum(pull.merged_at is not None for pull in pulls)

    def push(self, branch: str, run_id: str, files: dict[str, bytes]) -> str:
        """Put files on a new branch, as the worker of a run does; return its commit."""
        repos = self.forge.store.repos
        repos.create_ref(
            self.repo, f"refs/heads/{branch}", repos.commit_of(self.repo, "main"), actor=self.bot
        )
        message = f"Work\n\nCardinal-Run: {run_id}"
        return repos.write_files(self.repo, branch, dict(files), message, actor=self.bot)

    def deliver(self) -> list[tuple[str, bytes, str, str]]:
        """Return what was not delivered yet; the answer to each is that it came."""
        taken = []
        with self.forge.store.lock:
            while self.mail:
                one = self.mail.popleft()
                one.delivered_at, one.status, one.status_code = self.forge.store.clock.now(), "OK", 202
                taken.append((one.event, one.body, one.guid, one.action or ""))
        return taken


def _memory_mb() -> float:
    """Return what this process holds of memory, once what is free has gone back to the system."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return psutil.Process().memory_info().rss / MB


def _sizes(day: Day) -> dict[str, int]:
    """Return the bytes of what each table of the ledger has, and of what its pages have besides."""
    sizes: dict[str, int] = {}
    with event_store.reading(day.services.engine) as db:
        for table in db.exec_driver_sql(TABLES).scalars().all():
            columns = db.exec_driver_sql(COLUMNS_OF, (table,)).scalars()
            row = " + ".join(f'COALESCE(LENGTH(CAST("{column}" AS BLOB)), 0)' for column in columns)
            sizes[table] = int(
                db.exec_driver_sql(f'SELECT COALESCE(SUM({row}), 0) FROM "{table}"').scalar_one()
            )
        whole = int(db.exec_driver_sql(PAGES).scalar_one())
    return {**sizes, "indexes, and the rest of pages": whole - sum(sizes.values())}
