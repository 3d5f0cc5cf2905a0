"""Plays one story with what goes wrong in it, and tells how it ended.

Each story has a process of its own: two forges in one would take turns.
"""

import pickle
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from forge.demo.stage import Stage
from tests.chaos import cardinal as real
from tests.chaos import leaving, tally
from tests.chaos.plots import Plot
from tests.chaos.tally import Tally
from tests.chaos.victims import living
from tests.chaos.watch import Struck, Watcher

JOIN_S = 30.0
MAX_S = 720.0
ENDING = "ending"  # the file in the story's folder that tells how it ended


class StoryFailedError(AssertionError):
    """A story did not come to its end."""

    def __init__(self, name: str, told: str) -> None:
        super().__init__(f"the story {name!r} failed:\n{told}")


@dataclass(frozen=True, slots=True)
class Played:
    """A story that was played to its end. `left`: what still ran after the stop, which must be nothing."""

    struck: tuple[Struck, ...]
    tally: Tally
    left: tuple[str, ...]
    took_s: float


def play_through(root: Path, plot: Plot) -> Played:
    """Play the demo's story with the plot's blows and faults; raises what was not observed."""
    with real.running(root) as cardinal:
        stage = Stage(cardinal.team)
        watcher = Watcher(cardinal, plot.blows)
        following = watcher.follow()
        cardinal.faults(delays=plot.delays)
        began = time.monotonic()
        for step in plot.steps:
            watcher.calm()
            if step.name in plot.deliveries:
                cardinal.faults(deliveries=plot.deliveries[step.name])
            step.play(stage)
        took_s = round(time.monotonic() - began, 1)
        watcher.over()
        following.join(JOIN_S)
        if watcher.problem is not None:
            raise watcher.problem
        cardinal.end_faults()
        tally.settled(cardinal.engine)
        tally.check_ledger(cardinal.engine)
        if plot.steps is leaving.STEPS:
            leaving.check_asked_once(stage)
        seen = tally.count(stage)
        everyone = cardinal.everyone()
        cardinal.stop()
        left = (*map(str, living(everyone)), *real.living_in(root))
        return Played(tuple(watcher.struck), seen, left, took_s)


def play_apart(name: str, root: Path) -> Played:
    """Play a plot in a process of its own. Raises StoryFailedError with what it and Cardinal said last."""
    command = (sys.executable, "-m", "tests.chaos", name, str(root))
    done = subprocess.run(command, capture_output=True, text=True, timeout=MAX_S, check=False)
    if done.returncode != 0:
        log = root / "cardinal.log"
        said = log.read_text(errors="replace") if log.exists() else ""
        raise StoryFailedError(name, f"{done.stderr[-3000:]}\n{said[-3000:]}")
    ended: Played = pickle.loads((root / ENDING).read_bytes())
    return ended
