"""Whether a run may start on a card, and of which kind it is."""

import re
from dataclasses import replace
from datetime import datetime, timedelta

from ledger.events.conversation import CommandGiven
from ledger.model.run_modes import FIX, INVESTIGATE, PLACES
from ledger.states import CardState, Door, Ending, PullState, RunKind
from rules.card.agent_choice import unknown_labels
from rules.card.target_repository import ask_repository as ask_for_repository
from rules.card.target_repository import problem as unplaced
from rules.chatops.parser import door_of
from rules.chatops.replies import say
from rules.intents.internal import QueueRun, show_card
from rules.intents.outbound import ConvertDraft, Decision
from rules.policy.model import Policy
from rules.runs.mode import Chosen, choose_by_command, choose_mode, in_workspace
from rules.runs.plan_approval import is_reworded, list_changes_since
from rules.snapshot import Snapshot
from rules.text import count

# A telephone makes one long dash of two short ones.
_REPRODUCE = re.compile(r"(?<!\S)(?:--|—|–)repro(?!\S)[ \t]*", re.IGNORECASE)
MAX_KEPT = 100  # of a card's newest runs; no policy allows as many in an hour by themselves


def start_obstacle(policy: Policy, snapshot: Snapshot) -> str:
    """Return why no run may start on the card, or an empty string."""
    return _barrier(snapshot) or unplaced(policy, snapshot)


def _barrier(snapshot: Snapshot) -> str:
    """Return the obstacle on the card itself: not that its repository is unclear."""
    if snapshot.archived:
        return "the card left the board"
    if snapshot.pull and snapshot.pull.state is PullState.MERGED:
        return f"pull request #{snapshot.pull.number} is merged: more work needs a new issue"
    if not snapshot.archetype.STARTS_RUNS:
        return "no agent works in this column: drag the card to an execution column"
    if snapshot.closed:
        return "the issue is closed: reopen it, then /cardinal retry"
    if snapshot.live_run:
        return f"{snapshot.live_run.run_id} is already active"
    return ""


def start(policy: Policy, snapshot: Snapshot, *, by: str, now: datetime) -> Decision:
    """Queue a run for a card that entered, when there is something to do; else say why not."""
    if because := _barrier(snapshot):
        return show_card(because=because)
    if unplaced(policy, snapshot):
        return ask_for_repository(policy, snapshot)
    if snapshot.is_draft:
        return Decision((ConvertDraft(snapshot.card_id),), ("a run needs an issue to talk on",))
    run, mode = snapshot.run, choose_mode(policy, snapshot).mode
    if run and run.is_adopted and run.ended_at and snapshot.moved_at and snapshot.moved_at <= run.ended_at:
        return show_card()  # that drag was served before the ledger was restored
    done = bool(run and run.ending is Ending.SUCCEEDED and run.mode == mode)
    done = done or bool(snapshot.done_elsewhere and mode == FIX)
    if done and (mode in PLACES or not snapshot.feedback_waits):
        return show_card(because="there is nothing new to do; /cardinal retry starts another run")
    lately = sum(1 for begun in snapshot.begun if now - begun < timedelta(hours=1))
    if lately >= policy.limits.automatic_runs_per_hour:
        said = f"{lately} runs began within an hour: is an automation dragging it? /cardinal retry starts one"
        return show_card(CardState.BLOCKED, said)
    return queue_card(policy, snapshot, by=by, door=Door.BOARD)


def queue_card(
    policy: Policy,
    snapshot: Snapshot,
    *,
    by: str,
    door: str,
    mode: Chosen | None = None,
    request: str = "",
    reproduces: bool = False,
    other_agent: str = "",
) -> Decision:
    """Queue the run that fits: the first, a revision when a review asked for something, else a retry.

    `mode` is that of a command; else label and column choose it. `request` is `asked` of RunQueued;
    `reproduces`, `door` and `other_agent` are as there.
    """
    mode = in_workspace(snapshot, mode) if mode else choose_mode(policy, snapshot)
    queue_run, because = _fitting(snapshot, by, mode)
    intent = replace(
        queue_run,
        mode=mode.mode,
        mode_rule=mode.rule,
        mode_value=mode.value,
        asked=request,
        reproduces=reproduces,
        door=door,
        waits_for_parts=_waits_for_parts(snapshot, queue_run.kind),
        other_agent=other_agent,
    )
    queued = Decision((intent,), (f"{because}, {mode.mode}: {mode.reason}",))
    return queued + unknown_labels(snapshot)


def _waits_for_parts(snapshot: Snapshot, kind: RunKind) -> bool:
    """Tell whether the run waits for the card's sub-issues; an answer to a review does not."""
    column = snapshot.column_policy
    return column is not None and column.sub_issues == "wait" and kind is not RunKind.REVISION


def start_as_told(policy: Policy, snapshot: Snapshot, given: CommandGiven, mode: str) -> Decision:
    """Queue a run in the mode that a command names, where one may start; its words are for this run."""
    because = start_obstacle(policy, snapshot)
    if because:
        return say(snapshot, given, f"No run was started: {because}.")
    first, newline, below = given.argument.partition("\n")
    first, flags = _REPRODUCE.subn("", first)
    words = f"{first.rstrip()}{newline}{below}".strip()
    choice = choose_by_command(mode, given.by)
    door = door_of(given.source)
    return queue_card(
        policy, snapshot, by=given.by, door=door, mode=choice, request=words, reproduces=flags > 0
    )


def _fitting(snapshot: Snapshot, by: str, mode: Chosen) -> tuple[QueueRun, str]:
    card, run, column = snapshot.card_id, snapshot.run, snapshot.column_policy
    if mode.mode == INVESTIGATE:  # there is nothing that a plan would have to allow
        kind = RunKind.RETRY if run else RunKind.FIRST
        return QueueRun(card, kind, by, plan_required=False), "an investigation"
    required = bool(column and column.plan_required)
    if snapshot.feedback_waits and mode.mode not in PLACES:
        because = f"a revision for {count(snapshot.pending_threads, 'review thread')}"
        return QueueRun(card, RunKind.REVISION, by, plan_required=False), because
    if run is None:
        return QueueRun(card, RunKind.FIRST, by, plan_required=required), "the first run"
    # An approval was about one text and one policy: whoever edits later approves nothing.
    holds = run.plan_approved and not is_reworded(snapshot) and not list_changes_since(snapshot, "")
    again = required and not holds
    return QueueRun(card, RunKind.RETRY, by, plan_required=again), f"again after {run.run_id}"
