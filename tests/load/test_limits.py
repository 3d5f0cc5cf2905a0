"""The fold that judges the load test sees a limit that was exceeded, even for a moment."""

from ledger.events.run import RunClaimed, RunEnded, RunParked, RunQueued, RunStepped
from ledger.ids import CardId, RunId
from ledger.states import Ending, RunKind, RunState
from tests.load.limits import most_held


def queued(number: int, repository: str) -> RunQueued:
    return RunQueued(
        RunId(f"r{number}"), CardId(f"c{number}"), 1, RunKind.FIRST, "In Progress", repository, "b",
        "scripted", "ann", "", "{}", False,
    )  # fmt: skip


def test_runs_that_were_held_together_are_counted_together() -> None:
    one, two = RunId("r1"), RunId("r2")
    most = most_held(
        [
            queued(1, "acme/shop"), queued(2, "acme/shop"), RunClaimed(one, 1, "w"), RunClaimed(two, 1, "w"),
            RunEnded(one, Ending.SUCCEEDED, "", "", ""),
        ]
    )  # fmt: skip
    assert most.total == most.by_column["In Progress"] == most.by_repository["acme/shop"] == 2


def test_a_run_that_parked_or_waits_for_approval_or_ended_is_held_no_more() -> None:
    leaving = (
        RunParked(RunId("r1"), "question"),
        RunStepped(RunId("r1"), RunState.PLANNING, RunState.AWAITING_APPROVAL),
        RunEnded(RunId("r1"), Ending.SUCCEEDED, "", "", ""),
    )
    for left in leaving:
        run_events = [queued(1, "acme/shop"), queued(2, "acme/board"), RunClaimed(RunId("r1"), 1, "w"), left]
        most = most_held([*run_events, RunClaimed(RunId("r2"), 1, "w")])
        assert most.total == 1
        assert most.by_repository == {"acme/shop": 1, "acme/board": 1}
