"""One cause that strikes many cards: it halts the board with one message, until it is gone."""

from datetime import datetime, timedelta

from ledger.events import run as runs
from ledger.events.board import BoardHalted, HaltLifted
from ledger.rows.halts import HaltRow
from ledger.rows.runs import RunRow
from ledger.states import BY_ITSELF, Ending, RunState
from rules.card.trigger import time_stamp
from rules.intents.outbound import Decision, Say
from rules.policy.model import Policy
from rules.snapshot import Snapshot
from rules.text import count, plain

FIRST_WAIT, MAX_WAIT = timedelta(minutes=10), timedelta(hours=2)
# A run gets so far only where the cause of a halt is gone: its agent started, and its model answered.
_ALIVE = (RunState.AWAITING_APPROVAL, RunState.VALIDATING, RunState.PUBLISHING)


def is_shared_cause(snapshot: Snapshot, event: runs.RunEnded) -> bool:
    """Return whether the run's cause of failure halts the board: then it needs no report of its own."""
    return bool(event.cause) and snapshot.halt is not None and snapshot.halt.cause == event.cause


def halts(policy: Policy, snapshot: Snapshot, event: runs.RunEnded) -> bool:
    """Return whether this ending is the one too many of its cause."""
    return bool(event.cause) and snapshot.halt is None and snapshot.struck >= policy.limits.same_failures


def judge_halt(policy: Policy, snapshot: Snapshot, event: runs.RunEnded, now: datetime) -> Decision:
    """Halt the board, let it wait longer after a try in vain, or let it go on after one that went well."""
    if halts(policy, snapshot, event):
        return _halt(snapshot, event, now)
    halt = snapshot.halt
    if halt is None or halt.probe != event.run_id:
        return Decision()
    if event.ending in (Ending.CANCELLED, Ending.LOST):  # it shows neither: the next one tries
        again = BoardHalted(snapshot.board_id, halt.cause, halt.because, now + FIRST_WAIT, halt.tries)
        return Decision((again,), (f"{event.run_id} ended before it could tell",))
    if not is_shared_cause(snapshot, event):
        return _lift(snapshot, halt, f"{event.run_id} did not fail of it any more")
    wait = min(FIRST_WAIT * 2 ** min(halt.tries + 1, 10), MAX_WAIT)
    longer = BoardHalted(snapshot.board_id, halt.cause, halt.because, now + wait, halt.tries + 1)
    return Decision((longer,), (f"{event.run_id} tried in vain: {halt.because}",))


def came_through(snapshot: Snapshot, run: RunRow, event: runs.RunEvent) -> Decision:
    """Let the board go on once the run that tries has got through to where the cause would have hit it."""
    # One that reached a limit had its model for all of it; a paused one says nothing, and lets another try.
    parked = isinstance(event, runs.RunParked) and event.why in ("question", "limit")
    through = parked or (isinstance(event, runs.RunStepped) and event.after in _ALIVE)
    if not through or snapshot.halt is None or snapshot.halt.probe != run.run_id:
        return Decision()
    return _lift(snapshot, snapshot.halt, f"{run.run_id} came through")


def _halt(snapshot: Snapshot, event: runs.RunEnded, now: datetime) -> Decision:
    said = plain(event.detail or event.reason, 200)
    cards = count(snapshot.struck, "card")
    halt = BoardHalted(snapshot.board_id, event.cause, said, now + FIRST_WAIT, 0)
    text = (
        f"Runs of {cards} failed for the same reason, so no run starts on the board for now:\n\n> {said}\n\n"
        f"Cardinal tries again in {FIRST_WAIT.seconds // 60} minutes; this is the only message about it. Once"
        " it is fixed, `/cardinal resume board` resumes everything at once; cards whose run failed need"
        " `/cardinal retry`."
    )
    return Decision(
        (halt, Say(snapshot.card_id, f"halt:{time_stamp(now)}", text)), (f"the board is halted: {said}",)
    )


def _lift(snapshot: Snapshot, halt: HaltRow, because: str) -> Decision:
    return Decision((HaltLifted(snapshot.board_id, halt.cause, BY_ITSELF),), (because,))
