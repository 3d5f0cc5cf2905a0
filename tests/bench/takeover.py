"""How long a run stands still when its host is killed in the middle of a turn, and what is done again."""

import dataclasses
import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bot.system import liveness
from ledger.events.run import Progressed, RunClaimed, RunRequeued
from ledger.events.turn import BoardToolCalled, TurnStarted
from ledger.events.workspace import Checkpointed
from ledger.log import event_store
from ledger.queue import leases
from runner.run.log import RunLog
from runner.run.run_spec import HostPaths, RunSpec, StoreSpec
from runner.supervisor import execute_run
from tests.bench.figures import Figure
from tests.runner.world import LIMITS, RUN, World, make_world

LEASE_S = 15.0  # as CARDINAL_LEASE_S is, unless it is set
GOAL_S, GOAL_BESIDE_S = 20.0, 5.0
STEPS = 10
PATIENCE_S = 120.0
TICK_S = 0.5  # between two looks, as the ticker takes them
PLAN = {"plan": {"summary": "Count", "steps": [f"Step {number}" for number in range(STEPS)]}}
FINISH = {"finish": {"done": "Counted.", "changed": [], "check": [], "open_questions": []}}


def measure(*, quick: bool) -> Iterator[Figure]:
    """Kill a worker whose agent works, and let another home go on: once the lease is over, and once the dead
    one's own host has seen it.
    """
    waited, again, redone = _play(beside=False)
    note = f"{waited:.1f} s of it for the lease of {LEASE_S:.0f} s: a silent host may be alive, and cut off"
    yield Figure("takeover", again, "s", GOAL_S, note)
    done = f"{STEPS} commits and {STEPS + 1} board calls were made before; its last word is not counted"
    yield Figure("takeover_redone", redone, "steps", 0, done)
    waited, again, _ = _play(beside=True)
    note = f"{waited:.1f} s of it until the worker's own host, which lives, let its lease run out"
    yield Figure("takeover_beside", again, "s", GOAL_BESIDE_S, note)


def _play(*, beside: bool) -> tuple[float, float, int]:
    """Return the seconds until the lease was over, those until the agent works again, and the steps that were
    done twice. `beside`: the dead worker's host looks after its processes, as its ticker does.
    """
    with tempfile.TemporaryDirectory(prefix="cardinal-bench-") as folder:
        world = make_world(Path(folder), files={"README.md": "# Count\n"})
        steps = [{"run": "echo x >> count.txt"}, {"commit": "Count"}, {"progress": "Counted"}] * STEPS
        world.scenario(plan=[PLAN], work=[*steps, {"progress": "Here"}, {"sleep": PATIENCE_S}, FINISH])
        spec = world.spec(
            limits=LIMITS.model_copy(update={"checkpoint_s": 1.0, "timeout_s": 600, "silence_s": 300})
        )
        _killed(world, _on(world, spec, "b"))
        killed, begun = time.monotonic(), len(world.events())
        world.scenario(plan=[PLAN], work=[*steps, {"progress": "Here"}, FINISH])
        waited, again = _taken_over(world, _on(world, spec, "c"), killed, beside=beside)
        counted = len(world.show("count.txt").splitlines())
        repeats = sum(isinstance(event, BoardToolCalled) for event in world.events()[begun:]) - 1
        world.engine.dispose()
    return waited, again, counted - STEPS + repeats


def _on(world: World, spec: RunSpec, host: str) -> RunSpec:
    mirrors, workspaces, logs = (world.root / host / name for name in ("mirrors", "workspaces", "logs"))
    store = StoreSpec(str(world.root / "shared"))
    paths = HostPaths(mirrors, workspaces, logs, world.places.scenarios, store=store)
    return dataclasses.replace(spec, host=host, paths=paths)


def _killed(world: World, spec: RunSpec) -> None:
    world.engine.dispose()

    def work() -> None:
        claimed, log = world.claim(spec, worker=liveness.name(os.getpid()), ttl_s=LEASE_S)
        execute_run(claimed, log, world.remote, world.clock)

    worker = multiprocessing.get_context("fork").Process(target=work)
    worker.start()
    until, kept = time.monotonic() + PATIENCE_S, False
    while not kept and time.monotonic() < until:
        events = world.events()
        here = [
            at for at, event in enumerate(events) if isinstance(event, Progressed) and event.text == "Here"
        ]
        kept = bool(here) and any(isinstance(event, Checkpointed) for event in events[here[0] :])
        time.sleep(0.05)
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGKILL)
    worker.join()
    if not kept:
        raise TimeoutError(f"no checkpoint within {PATIENCE_S:.0f} s: {world.kinds()}")


def _taken_over(world: World, spec: RunSpec, killed: float, *, beside: bool) -> tuple[float, float]:
    """Return the seconds from the kill until the lease was over, and until the agent works again."""
    lease = None
    while lease is None and time.monotonic() - killed < PATIENCE_S:
        time.sleep(TICK_S)
        if beside:
            liveness.expire_dead_holders(world.engine)
        with event_store.writing(world.engine) as db:
            lease = leases.take(db, f"run:{RUN}", "c", ttl_s=LEASE_S)
    if lease is None:
        raise TimeoutError(f"the lease was not over within {PATIENCE_S:.0f} s")
    waited = time.monotonic() - killed
    world.write(RunRequeued(RUN, "reclaimed"), RunClaimed(RUN, lease.generation, "c"))
    claimed = dataclasses.replace(spec, generation=lease.generation)
    works: list[float] = []

    class Watched(RunLog):
        """Notes when the agent works again."""

        def append(self, *events: object) -> None:
            super().append(*events)  # type: ignore[arg-type]
            if any(isinstance(event, TurnStarted) for event in events):
                works.append(time.monotonic() - killed)

    log = RunLog(world.engine, RUN, lease, world.clock, ttl_s=LEASE_S)
    log.__class__ = Watched
    execute_run(claimed, log, world.remote, world.clock)
    return waited, works[0]
