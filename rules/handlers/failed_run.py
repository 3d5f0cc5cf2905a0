"""A run that failed: the policy's other agent takes the next attempt, or people at its parent retry it."""

from datetime import datetime, timedelta

from ledger.events.run import OWN, RunEnded, RunQueued
from ledger.ids import CardId, RunId
from ledger.rows.runs import RunRow
from ledger.states import Door, Ending
from rules.intents.outbound import Decision, Say
from rules.policy.board import CAPS
from rules.policy.column import ColumnPolicy
from rules.policy.model import Policy
from rules.runs.mode import again
from rules.runs.start import queue_card, start_obstacle
from rules.snapshot import Snapshot
from rules.text import code

# Reasons of RunEnded for which another agent may do better; all others are of the place, or of people.
OF_AGENT = frozenset({"agent_error", "gave_up", "stalled", "no_changes", "validation", "guardrail"})


def try_another(policy: Policy, snapshot: Snapshot, run: RunRow, event: RunEnded, now: datetime) -> Decision:
    """Queue the next attempt for the column's `retry`, unless that was this attempt already."""
    column = policy.column(run.column)
    other = column.retry if column else None
    of_agent = event.ending is Ending.FAILED and event.reason in OF_AGENT
    if column is None or other is None or not of_agent or run.other_agent or start_obstacle(policy, snapshot):
        return Decision()
    if _has_failed(policy, column, run, other):
        return Decision((), (f"{other} has just failed",))
    lately = sum(1 for begun in snapshot.begun if now - begun < timedelta(hours=1))
    if lately >= policy.limits.automatic_runs_per_hour:
        return Decision((), (f"{lately} runs began within an hour, so {other} does not try",))
    mode = again(policy, snapshot)
    return queue_card(policy, snapshot, by=run.by, door=Door.POLICY, mode=mode, other_agent=other)


def _has_failed(policy: Policy, column: ColumnPolicy, run: RunRow, other: str) -> bool:
    """Tell whether `other` played the run, whatever limits the card has."""
    if run.agent == OWN or not run.settings:
        return False
    then, flow = ColumnPolicy.model_validate_json(run.settings), policy.board.workflows.get(run.workflow)
    rules = column.with_workflow(run.workflow, flow) if flow else column
    limits = {key: getattr(then, key) for key in CAPS}
    played = rules.played_by(other, policy.board.specialists).model_copy(update=limits)
    return run.played_by == other or played.to_json() == then.to_json()  # settings of before lack keys


def retry_part(policy: Policy, snapshot: Snapshot, failed: RunId, *, by: str, whole: CardId) -> Decision:
    """Queue the next attempt of a sub-issue, as somebody answered on its parent, the card `whole`."""
    if snapshot.run is None or snapshot.run.run_id != failed:
        return Decision((), (f"there was another attempt after {failed} already",))
    if because := start_obstacle(policy, snapshot):
        said = f"#{snapshot.number} was not retried: {because}."
        return Decision((Say(whole, f"part:{failed}", said),), (said,))
    return queue_card(policy, snapshot, by=by, door=Door.PARENT, mode=again(policy, snapshot))


def tell_fallback(snapshot: Snapshot, event: RunQueued) -> Decision:
    """Say on the card that another agent tries."""
    if not event.other_agent:
        return Decision()
    said = (
        f"{event.run_id} tries again with {code(event.other_agent, 150)}, as `retry` of the column says,"
        " since the run before it failed. `/cardinal cancel` stops it."
    )
    return Decision((Say(snapshot.card_id, f"retry:{event.run_id}", said),), (said,))
