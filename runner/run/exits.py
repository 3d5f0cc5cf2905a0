"""How a stage leaves the run: by raising one of these; the supervisor writes what they mean."""

from ledger.states import Ending


class StageExit(Exception):  # no error: the ordinary way out of a stage
    """The base of the ways out."""


class Park(StageExit):
    """The process ended, the session is kept. `why`: question, limit or pause."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


class AwaitApproval(StageExit):
    """The plan waits for a person."""


class Finish(StageExit):
    """The run has its ending. `reason` is one of RunEnded's; empty for succeeded."""

    def __init__(self, ending: Ending, reason: str = "", detail: str = "") -> None:
        self.ending, self.reason, self.detail = ending, reason, detail
        super().__init__(f"{ending} {reason} {detail}")


class StopRequested(StageExit):
    """Somebody told the run to stop. `took_s`: how long stopping the agent took, 0 when none ran; `commits`:
    how many of the run's commits its workspace keeps, None before they are counted.
    """

    def __init__(self, how: str, by: str, took_s: float = 0.0) -> None:
        self.how, self.by, self.took_s = how, by, took_s
        self.commits: int | None = None
        super().__init__(how)


def failed(reason: str, detail: str) -> Finish:
    """Return the way out of a run that failed."""
    return Finish(Ending.FAILED, reason, detail)
