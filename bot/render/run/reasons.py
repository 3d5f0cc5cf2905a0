"""Words for the reasons for which a run ended."""

from collections.abc import Mapping

from ledger.events.run import BESIDE
from ledger.rows.runs import RunRow
from ledger.states import Ending, RunState, RunStatus

REASONS: Mapping[str, str] = {
    "agent_error": "the agent stopped with an error",
    "guardrail": "a guardrail stopped it",
    "validation": "the checks did not pass",
    "stalled": "the agent stopped responding",
    "spawn_failed": "the agent could not be started",
    "gave_up": "it stopped without a report",
    "stopped": "a person stopped it",
    "superseded": "its card was dragged away before it started",
    "no_changes": "nothing was changed",
    "no_validation": "there was nothing to check its work with",
    "repository": "the repository could not be used",
    "provider": "its model provider did not respond",
    "hung": "it hung its worker",
    "internal": "Cardinal itself failed",
}


def explain_run(run: RunRow, because: str) -> str:
    """Return the reason of the run's ending, or its present work or wait; `because` is its card's."""
    if run.ending is Ending.SUCCEEDED:
        return ""
    if run.ending is not None:
        known = REASONS.get(run.reason, run.reason)
        return ": ".join(part for part in (known, run.stop_why or run.detail) if part)
    if run.kind in BESIDE:  # the card's reason is of another run
        return "waiting for its turn" if run.state is RunState.QUEUED else run.parked_why or run.last_line
    if run.state is RunState.QUEUED or run.status is RunStatus.NEEDS_INPUT:
        return because
    return run.parked_why or run.last_line
