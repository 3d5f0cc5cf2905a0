"""What a run's events come to for who audits it: made of them alone, so that it can be made again."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from bot.admin.audit import gate_fields, run_fields
from bot.admin.audit.document import AuditEvent, Summary, Taken
from ledger.events.run import RunEvent
from ledger.ids import RunId

TAKEN: Taken = {**run_fields.TAKEN, **gate_fields.TAKEN}
# Kinds that the summary leaves to the document's list of events: steps on the way, and what is said in other
# words elsewhere. A kind that is neither here nor in TAKEN fails tests/house.
ONLY_IN_EVENTS = frozenset(
    {
        "AgentSaid",
        "BoardToolCalled",
        "CardDescribed",
        "CommandRefused",
        "Noted",
        "PermissionAwaited",
        "PlanTicked",
        "ReviewRequested",
        "Progressed",
        "RoundBegan",
        "RunClaimed",
        "RunParked",
        "RunRequeued",
        "RunStepped",
        "StageAwaited",
        "SteeringHeard",
        "TodoListed",
        "TurnEnded",
        "TurnStarted",
    }
)


def of_events(run_id: RunId, told: Iterable[AuditEvent]) -> dict[str, Any]:
    """Return the summary of a run by its events, the oldest first; what never happened is empty."""
    summary = Summary(run_id)
    for one in told:
        take = TAKEN.get(type(one.event))
        if take is not None and (not isinstance(one.event, RunEvent) or one.event.run_id == run_id):
            take(summary, one, one.event)
    found = asdict(summary)
    del found["run"]  # the document has it
    return found
