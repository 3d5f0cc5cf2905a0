"""Exits of a phase: exceptions that the supervisor turns into events."""

from ledger.states import Ending


class StageExit(Exception):  # no error: the ordinary way out of a stage
    """The base of all exits. `point` is where another run can begin, as in Checkpointed; empty: nowhere."""

    point = ""


class Park(StageExit):
    """The process ended, the session is kept. `why`: question, limit or pause."""

    def __init__(self, why: str) -> None:
        self.why = why
        self.point = why if why == "question" else ""
        super().__init__(why)


class AwaitApproval(StageExit):
    """The plan waits for a person's approval."""

    point = "plan"


class Finish(StageExit):
    """The run has ended. `reason` is one of RunEnded's, empty for succeeded; `cause` is its, too."""

    def __init__(self, ending: Ending, reason: str = "", detail: str = "", cause: str = "") -> None:
        self.ending, self.reason, self.detail, self.cause = ending, reason, detail, cause
        super().__init__(f"{ending} {reason} {detail}")


class StopRequested(StageExit):
    """Somebody stopped the run.

    `commits`: how many of the run's commits its workspace keeps, None before they are counted.
    """

    def __init__(self, how: str, by: str) -> None:
        self.how, self.by = how, by
        self.commits: int | None = None
        super().__init__(how)


def fail(reason: str, detail: str, cause: str = "") -> Finish:
    return Finish(Ending.FAILED, reason, detail, cause)
