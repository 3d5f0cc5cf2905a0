"""The one entry to the rules: what should happen now that this event has."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from ledger.event import Event
from ledger.events import (
    access,
    agent,
    board,
    budget,
    conversation,
    findings,
    placement,
    publication,
    pull,
    related,
    stage,
)
from ledger.events import policy as policies
from ledger.events import run as runs
from rules import (
    boarding,
    buttons,
    card_state,
    checking,
    ci,
    commanding,
    conversing,
    entering,
    linking,
    merging,
    publishing,
    reviewing,
    running,
)
from rules.access import foreign
from rules.intents import Decision, Intent, MoveCard, UpdateFace
from rules.moving import STEERED, guard, labelled
from rules.policy import Policy
from rules.snapshot import Snapshot

# The event's type chooses the rule, which alone knows its fields: hence Any.
_OfCard = Callable[[Policy, Snapshot, Any, datetime], Decision]
_OfBoard = Callable[[Policy, Any, datetime], Decision]

BOARD_RULES: Mapping[type[Event], _OfBoard] = {
    board.BoardSeen: boarding.shaped,
    board.ColumnsChanged: boarding.ticked,
    board.StatusLost: boarding.ticked,
    board.StatusFound: boarding.ticked,
    board.StopOrdered: boarding.ticked,
    board.StopLifted: boarding.ticked,
    access.AccessLost: boarding.ticked,
    access.AccessRegained: boarding.ticked,
    access.RepositoryMoved: boarding.ticked,
    board.BoardHalted: boarding.ticked,
    board.HaltLifted: boarding.ticked,
    board.WorkStalled: boarding.ticked,
    board.DiskWasFull: boarding.ticked,
    policies.PolicyLoaded: boarding.ruled,
    policies.PolicyRejected: boarding.rejected,
}
CARD_RULES: Mapping[type[Event], _OfCard] = {
    board.CardSeen: entering.seen,
    board.CardExplained: card_state.explained,
    board.CardMoved: entering.moved,
    board.CardArrived: entering.arrived,
    board.CardConverted: entering.converted,
    board.CardDescribed: entering.described,
    board.CardRestored: entering.restored,
    board.LabelJudged: labelled,
    board.MoverFound: entering.found,
    placement.RepositoryResolved: entering.placed,
    board.CardArchived: reviewing.archived,
    board.IssueClosed: reviewing.closed,
    board.IssueReopened: reviewing.reopened,
    board.DecisionFailed: publishing.undecided,
    conversation.PersonSaid: conversing.said,
    conversation.AssistantReplied: conversing.replied,
    conversation.TaskAnswered: conversing.task_answered,
    conversation.AssistantFailed: conversing.assistant_failed,
    conversation.CommandGiven: commanding.given,
    conversation.CommandRefused: commanding.refused,
    publication.EntryGivenUp: publishing.given_up,
    pull.PullOpened: reviewing.opened,
    pull.PullChanged: reviewing.changed,
    pull.ChecksSettled: ci.settled,
    pull.GroupFormed: merging.grouped,
    pull.GroupGone: merging.ungrouped,
    pull.MergeAwaited: merging.awaited,
    pull.ReviewSubmitted: reviewing.submitted,
    pull.ReviewDismissed: reviewing.dismissed,
    runs.RunQueued: running.stepped,
    runs.RunClaimed: running.stepped,
    runs.RunStepped: running.stepped,
    runs.RunParked: running.stepped,
    runs.RunRequeued: running.stepped,
    runs.PlanProposed: running.shown,
    runs.PlanApproved: running.plan_settled,
    runs.PlanRedirected: running.plan_settled,
    runs.QuestionAsked: running.asked,
    runs.QuestionAnswered: running.answered,
    runs.BranchPushed: running.pushed,
    runs.ThreadAnswered: running.thread_answered,
    runs.RunEnded: running.ended,
    runs.RunStopAsked: running.shown,
    runs.PlanTicked: running.shown,
    runs.Progressed: running.shown,
    runs.ToolUsed: running.shown,
    runs.CommandChecked: running.shown,
    runs.ValidationEnded: running.shown,
    runs.UsageMetered: running.shown,
    budget.BudgetRaised: running.shown,
    related.CardProposed: running.card_proposed,
    related.CardLinked: running.card_linked,
    related.LinksSeen: linking.linked,
    findings.FollowUpMade: running.follow_up_made,
    agent.TodoListed: running.shown,
    agent.ProviderFailed: running.shown,
    stage.StageEntered: running.shown,
    stage.StageReopened: running.shown,
    stage.StageLeft: running.shown,
}

# After these a merge that waits may be one that nobody wants any more.
UNSETTLING = (board.CardMoved, board.MoverFound, pull.PullChanged, pull.ReviewSubmitted, pull.ReviewDismissed)


def decide(policy: Policy, snapshot: Snapshot | None, event: Event, now: datetime) -> Decision:
    """Return what the event asks for, the card being as it is now; a board's event needs no snapshot."""
    kind = type(event)
    if kind in BOARD_RULES:
        return BOARD_RULES[kind](policy, event, now)
    if kind not in CARD_RULES:
        return Decision()  # told by what comes with it, or only kept
    if snapshot is None:
        return Decision((), (f"{kind.__name__} is about a card that is not known",))
    if snapshot.foreign and not snapshot.archived:
        return _possible(snapshot, foreign(policy, snapshot))
    if snapshot.only_checks and isinstance(event, runs.RunEvent):
        checked = checking.happened(policy, snapshot, event, now) + buttons.shown(snapshot, event)
        ended = isinstance(event, runs.RunEnded)
        return _possible(snapshot, (merging.astray(policy, snapshot) if ended else Decision()) + checked)
    moved = isinstance(event, STEERED)
    decided = merging.astray(policy, snapshot, moved=moved) if kind in UNSETTLING else Decision()
    decided = guard(policy, snapshot, event, decided + CARD_RULES[kind](policy, snapshot, event, now), now)
    return _possible(snapshot, decided + buttons.shown(snapshot, event))


def _possible(snapshot: Snapshot, decided: Decision) -> Decision:
    """Drop what is asked for twice, and what GitHub refuses for a card that left the board."""
    refused: tuple[type[Intent], ...] = (UpdateFace, MoveCard) if snapshot.archived else ()
    once = dict.fromkeys(intent for intent in decided.intents if not isinstance(intent, refused))
    return Decision(tuple(once), tuple(dict.fromkeys(line for line in decided.because if line)))
