"""How soon the run of a card starts once the issue that blocks it is closed, as a merge closes it."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

from forge.demo.launch import Scene
from forge.demo.people import REPOSITORY, Team, wait_for
from ledger.events.run import PlanProposed, RunClaimed, RunQueued
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from tests.bench.figures import Figure, percentile, say
from tests.bench.world import running

PAIRS, FEW_PAIRS = 20, 1
REST_S = 1.0  # a run that does not wait starts sooner
PATIENCE_S = 120
GOAL_S = 1.0


def measure(*, quick: bool) -> Iterator[Figure]:
    """Drag cards that wait for another one, and close that one."""
    count = FEW_PAIRS if quick else PAIRS
    with running() as scene:
        took = [_start_s(scene, number) for number in range(count)]
    note = f"{count} cards, from the closing of the only issue that blocks each to the run's claim"
    yield Figure("dependent_start_p50", percentile(took, 0.5), "s", note=note, raw="raw_rq_job")
    yield Figure("dependent_start_p99", percentile(took, 0.99), "s", GOAL_S, note)


def _start_s(scene: Scene, number: int) -> float:
    team = scene.team
    before = _last_seq(scene)
    first, second = (
        team.new_card("carol", f"{which} of pair {number}", "Nothing.", "Tasks")
        for which in ("First", "Second")
    )
    issue = f"/repos/{REPOSITORY}/issues"
    blocker = team.call("carol", "GET", f"{issue}/{first}")["id"]
    team.call("carol", "POST", f"{issue}/{second}/dependencies/blocked_by", {"issue_id": blocker})
    team.drag("alice", second, "In Progress")
    _wait(scene, before, RunQueued, "is queued")
    time.sleep(REST_S)
    if _first_at(scene, before, RunClaimed) is not None:
        raise RuntimeError("the run of a blocked card started")
    closed = datetime.now(UTC)
    _close(team, first)
    started = _wait(scene, before, RunClaimed, "starts")
    _wait(scene, before, PlanProposed, "has its plan")
    took_s = (started - closed).total_seconds()
    say(f"  pair {number}: {took_s * 1000:.0f} ms")
    return took_s


def _close(team: Team, number: int) -> None:
    team.call("alice", "PATCH", f"/repos/{REPOSITORY}/issues/{number}", {"state": "closed"})


def _wait(scene: Scene, after: int, kind: type, what: str) -> datetime:
    wait_for(
        f"the run {what}",
        lambda: "yes" if _first_at(scene, after, kind) is not None else None,
        limit_s=PATIENCE_S,
    )
    at = _first_at(scene, after, kind)
    assert at is not None
    return at


def _first_at(scene: Scene, after: int, kind: type) -> datetime | None:
    """Return when the first event of that kind was appended later than `after`."""
    engine = open_ledger(f"sqlite:///{scene.home / '.cardinal/data/ledger.db'}", migrate=False)
    try:
        with event_store.reading(engine) as db:
            page = event_store.read(db, after=after, limit=5_000)
    finally:
        engine.dispose()
    return next((one.at for one in page if isinstance(one.event, kind)), None)


def _last_seq(scene: Scene) -> int:
    engine = open_ledger(f"sqlite:///{scene.home / '.cardinal/data/ledger.db'}", migrate=False)
    try:
        with event_store.reading(engine) as db:
            return event_store.last_seq(db)
    finally:
        engine.dispose()
