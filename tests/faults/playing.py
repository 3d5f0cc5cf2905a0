"""Plays a story with what goes wrong in it: a new process follows a killed one, once its leases ran out."""

import shutil
import tempfile
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from pathlib import Path

from sqlalchemy.exc import OperationalError

from bot.github.errors import GithubError
from bot.scheduler import dispatch, ticker
from bot.sync import sweep
from ledger.errors import LedgerError
from ledger.lifecycle.upgrade import is_current
from ledger.log import event_store
from ledger.views import runs
from runner.errors import RunnerError
from tests.bot.flows.cardinal import Cardinal, UnsettledError
from tests.bot.flows.opening import open_services, opened
from tests.faults.ending import Ending, look
from tests.faults.points import Fault, KilledError, World, installed
from tests.faults.power import Disk
from tests.faults.stories import STORIES, Call, Calls, Story

# Longer than the claims of deliveries, cards and entries last, and than a failed act is put off at first.
LEASES_S = 180
RUN_LEASE_S = 700  # longer than a run is leased, too
MAX_ROUNDS = 40
MEMORY = "/dev/shm"  # where images of disks are synced fast
# By the wall's clock: `_tick` does the same by the story's. The heartbeat is not due after the first.
NOW_AND_THEN = (ticker.heartbeat, ticker.late_checks, ticker.make_due_cards, ticker.show_places, ticker.reap)
STEPS = (
    *(step for step in ticker.STEPS if step not in NOW_AND_THEN),
    *(ticker.request_due, ticker.write_places),
)
# How the job of a living process fails at a fault; the next tick wakes it again.
FAILURES = (OperationalError, GithubError, LedgerError, RunnerError)


@dataclass(frozen=True, slots=True)
class Played:
    """One play of a story: its points in order, the faults that struck, and its end or why it has none."""

    trace: tuple[str, ...]
    struck: tuple[str, ...]
    ending: Ending | None
    problem: str = ""

    def differences(self, other: "Played") -> str:
        """Return what is not as in the quiet play, in words; empty where everything is."""
        quiet = other.ending
        if self.ending is None or quiet is None:
            return self.problem or other.problem
        cuts = sum(hit.endswith(f":{Fault.POWER_CUT}") for hit in self.struck)
        found = quiet.differences(self.ending, losses=cuts)
        return "\n".join(f"{name}: {mine} became {its}" for name, (mine, its) in found.items())


def play(name: str, plan: Mapping[str, Fault] = {}, clocks: Mapping[int, float] = {}) -> Played:
    """Play a story with the faults of `plan`, each by the key of its point.

    From the steps of `clocks` on this machine's clock is wrong by so many seconds.
    """
    world = World(dict(plan))
    cuts = Fault.POWER_CUT in plan.values()
    folder = Path(tempfile.mkdtemp(prefix="cardinal-faults-", dir=MEMORY if cuts else None))
    if cuts:
        world.disk = Disk(folder / "at" / ".cardinal", folder)
    try:
        with opened(folder / "at") as cardinal, installed(world):
            cardinal.clock.stop()
            if world.disk is not None:
                _reopen(cardinal, world)
                world.disk.sync()
            ending = perform(cardinal, STORIES[name], world, clocks)
        return Played(tuple(world.trace), tuple(world.struck), ending)
    except (AssertionError, LookupError, *FAILURES) as error:
        said = "".join(traceback.format_exception(error)[-6:])
        return Played(tuple(world.trace), tuple(world.struck), None, said)
    finally:
        if world.disk is not None:
            world.disk.detach()
        shutil.rmtree(folder, ignore_errors=True)


@cache
def quiet(name: str) -> Played:
    """Return the play of a story in which nothing goes wrong."""
    played = play(name)
    assert played.ending is not None, played.problem
    return played


def perform(cardinal: Cardinal, story: Story, world: World, clocks: Mapping[int, float] = {}) -> Ending:
    """Play the story in a world; return how it ended. Raises AssertionError where it comes to no end."""
    for number, step in enumerate(story.steps):
        done = step(cardinal)
        back_s = 0.0
        if number in clocks:
            back_s = cardinal.clock.wrong_by.total_seconds() - clocks[number]
            cardinal.clock.wrong_by = timedelta(seconds=clocks[number])
        if world.disk is not None:
            world.disk.sync(cardinal.scenarios)  # which people wrote
        works = story.works is not None and number >= story.works
        if back_s > 0:  # what is due by the former time may wait as long, and what waits for that; no longer
            with suppress(UnsettledError):
                settle(cardinal, world, works=works)
            cardinal.clock.forward(back_s)
        settle(cardinal, world, works=works)
        for call in done if isinstance(done, Calls) else ():
            settle(cardinal, world, works=works, call=call)
    cardinal.clock.forward(400)  # what Cardinal does by itself: it sweeps, and time goes by
    settle(cardinal, world, works=story.works is not None, sweeps=True)
    cardinal.assert_nothing_is_stuck()
    return look(cardinal, with_activity=story.works is None)


def settle(
    cardinal: Cardinal,
    world: World,
    *,
    works: bool,
    sweeps: bool = False,
    reaps: bool = False,
    call: Call = lambda: True,
) -> None:
    """Let Cardinal do all that is due, by one process after the other, until one comes to the end unhurt.

    `works`: it carries runs out as well. `reaps`: it takes runs back from workers that vanished.
    `call`: a program's, which it repeats until it is answered.
    """
    answered = False
    for _ in range(MAX_ROUNDS):
        struck, waits = len(world.struck), False
        try:
            with world.watched(cardinal.count()):
                if not is_current(cardinal.services.engine):
                    restart(cardinal, world)
                answered = answered or call()
                if sweeps:
                    _sweep(cardinal)
                _tick(cardinal, reaps=reaps or works)
                cardinal.catch_up(work=works)
        except KilledError:
            pass
        except UnsettledError:  # a run is due whose dead worker has its lease still
            if not works:
                raise
            waits = True
        except FAILURES:
            assert len(world.struck) > struck, "a job failed, and nothing was done to it"
        if world.is_dead:
            restart(cardinal, world)
        elif (
            answered and len(world.struck) == struck and not waits and not (works and _is_run_held(cardinal))
        ):
            return
        cardinal.clock.forward(RUN_LEASE_S if works else LEASES_S)
        sweeps = True
    raise AssertionError(f"not settled after {MAX_ROUNDS} processes")


def restart(cardinal: Cardinal, world: World) -> None:
    """Let a new process come up where one was killed, or was of an earlier version."""
    cardinal.services.engine.dispose()
    world.restart(lambda: _reopen(cardinal, world))


def _reopen(cardinal: Cardinal, world: World) -> int:
    """Open the ledger anew; return the number of its newest event."""
    cardinal.services.engine.dispose()
    services = open_services(cardinal.services.config, cardinal.clock, durable=world.disk is not None)
    name = f"after {len(world.struck)} faults"
    cardinal.services = replace(services, name=name, host=cardinal.services.host)
    return cardinal.count()


def _tick(cardinal: Cardinal, *, reaps: bool) -> None:
    """Do all that the ticker does, now or now and then; only with `reaps` runs are taken back."""
    ticker.tick(cardinal.process, STEPS)
    if reaps:
        dispatch.reap_runs(cardinal.services.engine, now=cardinal.clock())


def _sweep(cardinal: Cardinal) -> None:
    cardinal.sweep()
    for services in cardinal.services.on_every_board()[1:]:
        sweep.sweep(services)


def _is_run_held(cardinal: Cardinal) -> bool:
    """Tell whether a killed worker's claim lasts still: each of a run is longer than the one before."""
    with event_store.reading(cardinal.services.engine) as db:
        return bool(runs.list_held(db))
