"""The events with which a fork is queued: what the other run had done when it stood there."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sqlalchemy import Connection

from ledger.event import Event, Recorded
from ledger.events.run import PlanApproved, PlanProposed, PlanTicked, RunEvent, RunQueued, SessionStarted
from ledger.events.stage import SnapshotTaken, StageEntered, StageLeft, StageReopened
from ledger.log import event_store
from ledger.rows.runs import RunRow
from ledger.views.checkpoints import CheckpointRow

_AT_ONCE = 500


def begin_at(db: Connection, queued: RunQueued, past: RunRow, origin: CheckpointRow) -> tuple[Event, ...]:
    """Return the RunQueued event, with the other run's session where the same agent has it, and copies of the
    events of plan and stages up to that point. What they cost was the other run's.
    """
    remembers = bool(origin.session) and queued.agent == past.agent
    before = tuple(_until(_events(db, past), origin))
    plan = next((it for it in reversed(before) if isinstance(it, PlanProposed)), None)
    sessions = [it.session_id for it in before if isinstance(it, SessionStarted)] or [past.session_id]
    copies = tuple(_copies(before, plan, by=queued.by, remembers=remembers))
    queued = replace(queued, session_id=sessions[-1] if remembers else "")
    return (queued, *(replace(event, run_id=queued.run_id) for event in copies))


def _events(db: Connection, past: RunRow) -> Iterator[Recorded]:
    after = 0
    while page := event_store.read(db, after=after, limit=_AT_ONCE, stream=f"run:{past.run_id}"):
        yield from page
        after = page[-1].seq


def _until(events: Iterable[Recorded], origin: CheckpointRow) -> Iterator[Event]:
    """Yield the events up to the checkpoint; at the end of a stage, until that is left."""
    leaves = origin.point.startswith("stage:")
    for recorded in events:
        if recorded.seq > origin.seq:
            if not leaves:
                return
            leaves = not isinstance(recorded.event, StageLeft)
        yield recorded.event


def _copies(
    before: tuple[Event, ...], plan: PlanProposed | None, *, by: str, remembers: bool
) -> Iterator[RunEvent]:
    if plan is not None:
        yield plan
        yield PlanApproved(plan.run_id, plan.revision, by)
        since = before[before.index(plan) :]
        ticked = [it for it in since if isinstance(it, PlanTicked)]
        yield from ticked[-1:]
    in_stage = False
    for event in before:
        match event:
            case StageEntered() | StageReopened():
                in_stage = True
                yield event
            case SnapshotTaken():
                yield event
            case StageLeft():
                in_stage = False
                yield replace(event, usd=0.0, input_tokens=0, output_tokens=0, turns=0, seconds=0.0)
            case SessionStarted() if in_stage and remembers:
                yield event
