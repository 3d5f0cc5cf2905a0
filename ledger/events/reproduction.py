"""A card's steps, played in a browser against the repository's own app."""

from dataclasses import dataclass

from ledger.event import Zoom
from ledger.events.run import RunEvent

BEFORE, AFTER = "before", "after"
PASSED, FAILED, UNPLAYABLE, KILLED = "passed", "failed", "unplayable", "killed"


@dataclass(frozen=True, slots=True)
class ReproductionPlayed(RunEvent, zoom=Zoom.ACTIVITY, section="reproductions"):
    """The steps were played on the commit `head`: before the agent began, or after the gate.

    `outcome`: passed, all steps came true; failed, `step` (from 1) did not, and `said` is how; unplayable or
    killed from outside (also for want of memory), and `said` is why. `errors` are the last ones of the page's
    console, of `error_count`. `kept` are the kinds of the artifacts that were kept of it, one for each.
    `image` is the digest of the image it ran in.
    """

    phase: str
    head: str
    image: str
    outcome: str
    steps: tuple[str, ...]
    step: int
    said: str
    errors: tuple[str, ...]
    error_count: int
    kept: tuple[str, ...]
    duration_s: float

    def describe(self) -> str:
        where = f" at step {self.step}" if self.step else ""
        said = f": {self.said}" if self.said else ""
        return f"in a browser {self.phase} the work: {self.outcome}{where} of {len(self.steps)}{said}"


@dataclass(frozen=True, slots=True)
class ReproductionSkipped(
    RunEvent, zoom=Zoom.ACTIVITY, line="nothing is played in a browser: {why}", section="reproductions"
):
    """Nothing is played in this run, although it was wanted; `why` has the next step for a person, as
    Markdown.
    """

    why: str
