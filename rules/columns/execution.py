"""execution: a coding agent is hired for the card and works on its branch."""

from ledger.events.board import ABANDONED
from ledger.events.run import OWN, STOPPED
from ledger.model.run_modes import FIX, INVESTIGATE, PLACES, SCRATCH
from ledger.states import CardState, Ending, PullState
from rules.card.column_actions import act, describe_routes, has_action, headlines
from rules.card.state import DerivedState, describe_closed, describe_failed_run, drag_on
from rules.card.trigger import RuleTrigger
from rules.intents.internal import show_card
from rules.intents.outbound import ConvertDraft, Decision
from rules.policy.column import OF_CARD, ColumnPolicy
from rules.policy.model import Policy
from rules.runs.gate import of_approved
from rules.snapshot import Snapshot
from rules.text import code, count, plain, usd

STATES = (
    CardState.QUEUED, CardState.WORKING, CardState.REVISING, CardState.NEEDS_INPUT, CardState.BLOCKED,
    CardState.FAILED, CardState.WORK_COMPLETE, CardState.CHANGES_REQUESTED, CardState.APPROVED,
)  # fmt: skip
STARTS_RUNS = True
ENTRY_ACTIONS = ({"action": "start_run"},)
AFTER_DISMISSAL = DerivedState(CardState.WORK_COMPLETE, "the verdict was dismissed")


def enter(policy: Policy, snapshot: Snapshot, column: ColumnPolicy, trigger: RuleTrigger) -> Decision:
    """Carry out the actions; where none of them starts a run, say how one starts."""
    if snapshot.is_draft:
        return Decision((ConvertDraft(snapshot.card_id),), ("a run needs an issue to talk on",))
    decision = act(policy, snapshot, column.entry_actions, trigger)
    if has_action(column.entry_actions, "start_run"):
        return decision
    return show_card() + decision


def derive(policy: Policy, snapshot: Snapshot) -> DerivedState:
    """Say how the card stands by its pull request's verdict and its newest run's ending."""
    run, pull = snapshot.run, snapshot.pull
    if pull and pull.state is PullState.MERGED:
        drag = drag_on(policy, snapshot.column, "terminal")
        return DerivedState(CardState.WORK_COMPLETE, f"pull request #{pull.number} is merged: {drag}")
    if snapshot.closed in ABANDONED:
        return DerivedState(
            CardState.BLOCKED,
            f"the issue is closed ({snapshot.closed.replace('_', ' ')}): reopen it to continue",
        )
    if snapshot.closed:
        return DerivedState(CardState.WORK_COMPLETE, describe_closed(policy, snapshot))
    if snapshot.done_elsewhere:
        other_run = snapshot.done_elsewhere
        return _of_success(policy, snapshot, f"{other_run.run_id} on board {plain(other_run.board, 80)}")
    if run is None:
        return DerivedState(CardState.BLOCKED, "no run has started: /cardinal retry starts one")
    if run.ending is Ending.SUCCEEDED:
        return _of_success(policy, snapshot, str(run.run_id), run.mode)
    if run.ending is Ending.CANCELLED:
        chosen = f" ({plain(run.detail, 160)})" if run.reason == STOPPED else ""
        who = f" by {run.stop_by}" if run.stop_by else chosen
        return DerivedState(
            CardState.BLOCKED, f"{run.run_id} was cancelled{who}: /cardinal retry starts another"
        )
    return DerivedState(CardState.FAILED, describe_failed_run(run))


def _of_success(policy: Policy, snapshot: Snapshot, run: str, mode: str = FIX) -> DerivedState:
    pull = snapshot.pull
    if mode in PLACES:
        drag = drag_on(policy, snapshot.column, "review", "terminal")
        said = f"{run} is done: read its report and files, then {drag}, or comment and /cardinal retry"
        return DerivedState(CardState.WORK_COMPLETE, said)
    if pull is None and mode == INVESTIGATE:
        said = f"{run} has investigated: read its findings; /cardinal fix lets an agent act on them"
        return DerivedState(CardState.WORK_COMPLETE, said)
    if pull and pull.state is PullState.CLOSED:
        return DerivedState(
            CardState.BLOCKED, f"pull request #{pull.number} was closed: reopen it, or /cardinal retry"
        )
    if pull and snapshot.verdict == "approved":
        return of_approved(policy, snapshot, pull, CardState.WORK_COMPLETE)
    if snapshot.feedback_waits:
        number = snapshot.pending_threads
        feedback = count(number, "open review comment") if number else "a review asks for changes"
        them = "it" if number == 1 else "them"
        return DerivedState(
            CardState.CHANGES_REQUESTED, f"{feedback}: /cardinal retry has an agent address {them}"
        )
    drag = drag_on(policy, snapshot.column, "review", "terminal")
    return DerivedState(CardState.WORK_COMPLETE, f"{run} is ready for review: read its report, then {drag}")


def headline(column: ColumnPolicy) -> str:
    """Describe an entry: an agent, its plan, its limits, and where the card goes afterwards."""
    return f"{_describe_start(column)}{describe_routes(column)}"


def _describe_start(column: ColumnPolicy) -> str:
    bounds = (
        f"up to {usd(column.budget_usd)} and {column.timeout_minutes} min, {_network(column.tools.network)}"
    )
    if not has_action(column.entry_actions, "start_run"):
        actions = headlines(column.entry_actions)
        entering = f"Entering {', '.join(actions)}. " if actions else ""
        return f"{entering}An agent starts work on /cardinal retry: {bounds}."
    if column.agent == OWN:
        return f"The card waits for a worker of your own: up to {column.timeout_minutes} min."
    if column.mode == INVESTIGATE:
        return f"An agent will look into it and report what it finds, without changing anything: {bounds}."
    first = "plan first, " if column.plan_required else ""
    staged = f"{count(len(column.stages), 'stage')}, " if column.stages else ""
    if column.workspace in PLACES:
        judged = f"{count(len(column.checks), 'check')}, " if column.checks else ""
        return f"An agent works in {_place(column)}, no pull request: {first}{staged}{judged}{bounds}."
    seen = ", seen early as a draft pull request" if column.publish == "early" else ""
    return f"An agent will be assigned and start work: {first}{staged}{bounds}{seen}."


def _place(column: ColumnPolicy) -> str:
    if column.workspace == SCRATCH:
        return "an empty place"
    if column.folder == OF_CARD:
        return "a folder of the card and its sub-cards"
    return f"the folder {code(column.folder)}"


def _network(hosts: tuple[str, ...]) -> str:
    if not hosts:
        return "no network"
    return "open network" if "*" in hosts else f"network to {count(len(hosts), 'host')}"
