"""review: people look at the pull request and give their verdict."""

from ledger.events.board import ABANDONED
from ledger.model.run_modes import PLACES
from ledger.states import CardState, Ending, PullState
from rules.card.column_actions import derive_and_act, describe_routes, headlines
from rules.card.state import DerivedState, describe_closed, drag_on
from rules.policy.column import ColumnPolicy
from rules.policy.model import Policy
from rules.runs.gate import of_approved
from rules.snapshot import Snapshot
from rules.text import plain

STATES = (
    CardState.IN_REVIEW, CardState.CHANGES_REQUESTED, CardState.APPROVED, CardState.BLOCKED,
    CardState.NEEDS_INPUT,
)  # fmt: skip
HAS_REVIEWS = True
AFTER_DISMISSAL = DerivedState(CardState.IN_REVIEW, "the verdict was dismissed: it is waiting for a review")
enter = derive_and_act


def derive(policy: Policy, snapshot: Snapshot) -> DerivedState:
    pull, run = snapshot.pull, snapshot.run
    if pull is None and run is not None and run.mode in PLACES and run.ending is Ending.SUCCEEDED:
        home, drag = plain(run.column, 60), drag_on(policy, snapshot.column, "terminal")
        said = (
            f"read the report and files of {run.run_id}, then {drag}; to have it changed, comment, drag the"
        )
        return DerivedState(CardState.IN_REVIEW, f"{said} card to {home} and say /cardinal retry")
    if pull is None:
        return DerivedState(CardState.IN_REVIEW, "there is no pull request to review")
    number = f"pull request #{pull.number}"
    if pull.state is PullState.CLOSED and snapshot.closed and snapshot.closed not in ABANDONED:
        return DerivedState(CardState.IN_REVIEW, describe_closed(policy, snapshot))
    if pull.state is PullState.CLOSED:
        return DerivedState(
            CardState.BLOCKED, f"{number} was closed without merging: reopen it, or drag the card back"
        )
    if pull.state is PullState.MERGED:
        return DerivedState(
            CardState.APPROVED, f"{number} is merged: {drag_on(policy, snapshot.column, 'terminal')}"
        )
    if snapshot.verdict == "approved":
        return of_approved(policy, snapshot, pull, CardState.IN_REVIEW)
    if snapshot.feedback_waits:
        return DerivedState(CardState.CHANGES_REQUESTED, changes_asked(snapshot))
    return DerivedState(CardState.IN_REVIEW, f"{number} is waiting for a review")


def changes_asked(snapshot: Snapshot) -> str:
    """Say how the requested changes reach an agent."""
    number = snapshot.pending_threads
    threads = "the thread" if number == 1 else f"the {number:,} threads"
    asked = threads if number else "the requested changes"
    home = snapshot.run.column if snapshot.run else "an execution column"
    return f"drag the card to {home} and an agent works on {asked}"


def headline(column: ColumnPolicy) -> str:
    actions = headlines(column.entry_actions)
    said = f"People review here. Entering {', '.join(actions)}." if actions else "People review here."
    return f"{said}{describe_routes(column, 'on_changes_requested')}"
