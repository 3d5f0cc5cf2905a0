"""Hundreds of cards dragged within two seconds: when does the last one have its first comment?"""

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import requests
from sqlalchemy import func, select

from bot.github import rate_limit
from bot.system import config as configuration
from bot.system import lock_file
from bot.system import redis as embedded_redis
from forge.demo.launch import Scene
from forge.demo.people import REPOSITORY, wait_for
from ledger.db.tables import events, inbox
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from ledger.queue import refresh_requests
from tests.bench.calls import count, kind
from tests.bench.figures import Figure, percentile, say
from tests.bench.story import writes_content
from tests.bench.world import running

# More than GitHub's hour allows cannot be commented on within it: with limits, fewer are dragged.
DRAGS, LIMITED_DRAGS, FEW_DRAGS = 500, 120, 20
WITHIN_S, HANDS = 2.0, 4  # the drags, and how many people drag at once
POLL_S, PATIENCE_S, QUIET_POLLS = 1.0, 600, 3
COMMENT = re.compile(rf"/repos/{REPOSITORY}/issues/(\d+)/comments")
# Lets each act of `cardinal up`, and of what is forked from it, use more than any limit that Cardinal knows.
LIFT = """
import sys
if "bot.cli" in sys.orig_argv:
    from bot.github import rate_limit
    rate_limit.SHARES = (10**6,) * len(rate_limit.SHARES)
"""
# A first comment may use this share of the minute's allowance.
PER_MINUTE = int(rate_limit.CONTENTS_PER_MINUTE * rate_limit.SHARES[1])
Call = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Burst:
    """A burst as the forge and Cardinal recorded it: the Unix times of each card's drag and first comment.

    From the first drag to the last of those comments: calls, events by kind, wake-ups queued, and CPU seconds
    by process.
    """

    dragged_s: Mapping[int, float]
    first_s: Mapping[int, float]
    calls: Sequence[Call]
    events: Mapping[str, float]
    jobs: int
    cpu_s: Mapping[str, float]

    @property
    def took_s(self) -> tuple[float, ...]:
        """The seconds from each drag to the card's first comment."""
        return tuple(at_s - self.dragged_s[number] for number, at_s in self.first_s.items())


def measure(*, quick: bool) -> Iterator[Figure]:
    """Drag them all with GitHub's limits of writing lifted, then fewer with the limits in force."""
    with TemporaryDirectory(prefix="cardinal-bench-") as name:
        Path(name, "sitecustomize.py").write_text(LIFT, encoding="utf-8")
        with _cards(FEW_DRAGS if quick else DRAGS, {"PYTHONPATH": name}) as (scene, numbers):
            settings = {"rate_limit": 10**9}
            requests.post(f"{scene.team.url}/_forge/settings", json=settings, timeout=30).raise_for_status()
            free = _play(scene, numbers)
    yield from _figures(free)
    with _cards(FEW_DRAGS if quick else LIMITED_DRAGS, {}) as (scene, numbers):
        limited = _play(scene, numbers)
    yield from _beside_limits(limited)


def _figures(burst: Burst) -> Iterator[Figure]:
    took = burst.took_s
    note = f"{len(took)} drags within {WITHIN_S:g} s, GitHub's limits of writing lifted; its hour, too"
    yield Figure("burst_first_comment_p50", percentile(took, 0.5), "s")
    yield Figure("burst_first_comment_p95", percentile(took, 0.95), "s", 20, note)
    yield Figure("burst_first_comment_worst", max(took), "s")
    kinds = count((kind(call["method"], call["path"], call["operation"]), 1) for call in burst.calls)
    drags, until = len(took), "until the last first comment, by drag"
    reads = sum(not writes_content(call) for call in burst.calls)
    yield Figure(
        "burst_reads", reads / drags, "reads", note=f"of GitHub, {until}; parts: all calls", parts=kinds
    )
    appended = sum(burst.events.values())
    yield Figure("burst_events", appended / drags, "events", note=f"appended, {until}", parts=burst.events)
    yield Figure("burst_jobs", burst.jobs / drags, "jobs", note=f"queued, {until}")
    spent = sum(burst.cpu_s.values())
    note = f"core seconds of Cardinal's processes, {until}; parts: all drags'"
    yield Figure("burst_cpu", spent / drags, "s", note=note, parts=burst.cpu_s)


def _beside_limits(burst: Burst) -> Iterator[Figure]:
    """Yield how long first comments waited when GitHub's minute would have taken them."""
    writes = [call["at_s"] for call in burst.calls if _creates(call)]
    allowed_s = {
        at_s: writes[n - PER_MINUTE] + 60 if n >= PER_MINUTE else 0.0 for n, at_s in enumerate(writes)
    }
    beyond = [at_s - max(burst.dragged_s[number], allowed_s[at_s]) for number, at_s in burst.first_s.items()]
    note = f"{len(burst.took_s)} drags; beyond GitHub's minute, of which first comments use {PER_MINUTE}"
    yield Figure("burst_beside_limits_p95", percentile(beyond, 0.95), "s", 20, note)
    yield Figure("burst_limited_first_comment_p95", percentile(burst.took_s, 0.95), "s")


def _creates(call: Call) -> bool:
    return call["method"] == "POST" and call["status"] == 201 and "access_tokens" not in call["path"]


@contextmanager
def _cards(count: int, more_env: Mapping[str, str]) -> Iterator[tuple[Scene, tuple[int, ...]]]:
    """Run forge and Cardinal with so many new cards, all of them known and at rest."""
    with running(more_env=more_env) as scene:
        numbers = tuple(
            scene.team.new_card("carol", f"Measured card {n}", "Nothing.", "Tasks") for n in range(count)
        )
        quiet = Counter[str]()

        def rests() -> str | None:
            waits, last = _waiting(scene)
            quiet[f"{last}"] += not waits
            return "at rest" if quiet[f"{last}"] >= QUIET_POLLS else None

        wait_for("every card is known", rests, limit_s=PATIENCE_S)
        yield scene, numbers


def _play(scene: Scene, numbers: Sequence[int]) -> Burst:
    """Drag all cards and wait for the first comment on each."""
    config = configuration.read(scene.environment, scene.home)
    redis = embedded_redis.connect_redis(config)
    requests.delete(f"{scene.team.url}/_forge/calls", timeout=30).raise_for_status()
    kinds, jobs, cpu = _kinds(scene), _jobs(redis), _cpu_s(config.home)
    dragged = _drag_all(scene, numbers)
    first: dict[int, float] = {}
    until = time.monotonic() + PATIENCE_S
    while len(first) < len(numbers):
        if time.monotonic() > until:
            raise TimeoutError(f"{len(numbers) - len(first)} cards have no comment after {PATIENCE_S} s")
        time.sleep(POLL_S)
        calls = requests.get(f"{scene.team.url}/_forge/calls", timeout=60).json()
        for call in calls:
            named = COMMENT.fullmatch(call["path"])
            if named and call["method"] == "POST" and call["status"] == 201:
                first.setdefault(int(named[1]), call["at_s"])
        say(f"  {len(first)} of {len(numbers)} cards have a comment")
    now, spent = _kinds(scene), _cpu_s(config.home)
    return Burst(
        dragged,
        {number: first[number] for number in numbers},
        calls,
        count((name, now[name] - kinds[name]) for name in now if now[name] > kinds[name]),
        _jobs(redis) - jobs,
        {name: round(s - cpu.get(name, 0.0), 2) for name, s in sorted(spent.items())},
    )


def _drag_all(scene: Scene, numbers: Sequence[int]) -> dict[int, float]:
    """Drag the cards evenly within WITHIN_S; return the Unix time of each drag."""
    began, began_s = time.monotonic(), time.time()

    def drag(place: int) -> tuple[int, float]:
        time.sleep(max(0.0, began + place / len(numbers) * WITHIN_S - time.monotonic()))
        at_s = time.time()
        scene.team.drag("alice", numbers[place], "In Progress")
        return numbers[place], at_s

    with ThreadPoolExecutor(HANDS) as hands:
        dragged = dict(hands.map(drag, range(len(numbers))))
    say(f"  {len(numbers)} cards dragged within {time.time() - began_s:.1f} s")
    return dragged


def _waiting(scene: Scene) -> tuple[int, int]:
    """Return how many deliveries and cards wait, and the number of the newest event."""
    engine = open_ledger(f"sqlite:///{scene.home / '.cardinal/data/ledger.db'}", migrate=False)
    try:
        with event_store.reading(engine) as db:
            undone = inbox.c.state.in_(("waiting", "claimed"))
            waits = int(db.scalar(select(func.count()).select_from(inbox).where(undone)) or 0)
            return waits + len(refresh_requests.list_requested_cards(db, limit=1)), event_store.last_seq(db)
    finally:
        engine.dispose()


def _kinds(scene: Scene) -> Counter[str]:
    """Return how many events of each kind there are."""
    engine = open_ledger(f"sqlite:///{scene.home / '.cardinal/data/ledger.db'}", migrate=False)
    try:
        with event_store.reading(engine) as db:
            query = select(events.c.kind, func.count()).group_by(events.c.kind)
            return Counter({str(name): int(there) for name, there in db.execute(query)})
    finally:
        engine.dispose()


def _jobs(redis: Any) -> int:
    """Return how many wake-ups were queued so far."""
    stats = redis.info("commandstats")
    return sum(int(stats.get(f"cmdstat_{name}", {}).get("calls", 0)) for name in ("lpush", "rpush"))


def _cpu_s(home: Path) -> dict[str, float]:
    """Return the core seconds of each part of `cardinal up`, those of ended children included."""
    presence = lock_file.read_presence(home)
    spent = {}
    for name, pid in (presence.parts if presence else {}).items():
        times = psutil.Process(pid).cpu_times()
        spent[name] = times.user + times.system + times.children_user + times.children_system
    return spent
