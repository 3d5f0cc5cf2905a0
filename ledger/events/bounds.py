"""Bounds of a run's repairs: each round of checks that failed, and the leave to publish without any."""

from dataclasses import dataclass

from ledger.event import Zoom
from ledger.events.run import RunEvent


@dataclass(frozen=True, slots=True)
class RoundBegan(RunEvent, shows_payload=True):
    """Checks begin in the workspace, at `head`: until a turn begins, new changes in it are theirs."""

    iteration: int
    head: str


@dataclass(frozen=True, slots=True)
class RoundFailed(RunEvent, zoom=Zoom.ACTIVITY, shows_payload=True):
    """A round of checks failed on the files of `tree`, at `command`; `set_up`: before any check could run;
    `clean`: on a clean checkout, where the agent never was.

    `signature` is the SHA-256 of the failure's looks, without the parts that differ each time. `failing`
    counts the failures, 0 where the output does not say; `names` are the first of them. `useful` is the part
    of the output that helps, redacted. The sizes are those of the whole change against its base. `missing` is
    the program that the place of the check did not have, where it failed for that.
    """

    iteration: int
    tier: str
    head: str
    tree: str
    command: str
    exit_code: int
    set_up: bool
    clean: bool
    signature: str
    failing: int
    names: tuple[str, ...]
    useful: str
    files_changed: int
    lines_changed: int
    missing: str = ""

    def describe(self) -> str:
        names = ", ".join(self.names[:5])
        return f"round {self.iteration} failed at {self.command}{f': {names}' if names else ''}"


@dataclass(frozen=True, slots=True)
class ValidationWaived(
    RunEvent, zoom=Zoom.CONVERSATION, line="nothing was checked on {head:.12}: validation is none"
):
    """The policy says `validation: none`, so nothing was checked on `head`; the base stood at `base`.

    `definition` as in ValidationEnded.
    """

    head: str
    base: str
    definition: str = ""
