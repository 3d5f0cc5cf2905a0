"""One issue on several boards: its cards have one branch, so their runs take turns, and work is done once."""

from ledger.states import RunState
from rules.card.left_column import end_waiting
from rules.card.state import derive_state, feedback_waits
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.runs.mode import FIX
from rules.snapshot import Snapshot


def follow_other(policy: Policy, snapshot: Snapshot) -> Decision:
    """Update a card after a run of the same issue on another board began or ended.

    Its own run ends where it waited for just that work; else it starts by itself.
    """
    run, done = snapshot.live_run, snapshot.done_elsewhere
    if snapshot.archived or snapshot.only_shown or not policy.archetype(snapshot.column).STARTS_RUNS:
        return Decision()
    if run is None:
        return derive_state(policy, snapshot) if done else Decision()
    same = done is not None and (run.mode, run.asked) == (FIX, done.asked)
    if done is None or not same or run.begun or feedback_waits(snapshot):
        waits = run.state is RunState.QUEUED and snapshot.because
        return derive_state(policy, snapshot) if waits else Decision()
    because = f"{done.run_id} on board {done.board} has done this work"
    return Decision((end_waiting(run, "superseded", because),), (because,))
