"""The one entry to the rules: an event and a card in, a decision out."""

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
    witness,
)
from ledger.events import job as jobs
from ledger.events import policy as policies
from ledger.events import run as runs
from rules.card import merge_lane, pull_cards, sibling_rebase, state
from rules.card.move_rights import STEERED, guard_move, labelled
from rules.handlers import board as boarding
from rules.handlers import (
    card_moved,
    check_buttons,
    ci,
    command,
    comment,
    issue_links,
    job,
    merge_queue,
    outbox,
    review,
    run,
    task,
)
from rules.handlers.access import foreign
from rules.intents.outbound import Decision, Intent, MoveCard, UpdateFace
from rules.policy.model import Policy
from rules.snapshot import Snapshot

# The event's type chooses the rule, which alone knows its fields: hence Any.
_OfCard = Callable[[Policy, Snapshot, Any, datetime], Decision]
_OfBoard = Callable[[Policy, Any, datetime], Decision]

BOARD_RULES: Mapping[type[Event], _OfBoard] = {
    **dict.fromkeys(
        (
            *(board.ColumnsChanged, board.StatusLost, board.StatusFound, board.StopOrdered, board.StopLifted),
            *(board.BoardHalted, board.HaltLifted, board.WorkStalled, board.DiskWasFull),
            *(access.AccessLost, access.AccessRegained, access.RepositoryMoved),
        ),
        boarding.ticked,
    ),
    board.BoardSeen: boarding.shaped,
    policies.PolicyLoaded: boarding.ruled,
    policies.PolicyRejected: boarding.rejected,
    policies.PolicyProposed: boarding.proposed,
}
# After these only the run's comment and the card's face are written anew.
_SHOWN = (
    *(runs.PlanProposed, runs.PlanTicked, runs.Progressed, runs.ToolUsed, runs.RunStopAsked),
    *(runs.CommandChecked, runs.ValidationEnded, runs.UsageMetered, budget.BudgetRaised),
    *(agent.TodoListed, agent.ProviderFailed, witness.CheckWitnessed),
    *(stage.StageEntered, stage.StageReopened, stage.StageLeft),
)
_STEPS = (runs.RunQueued, runs.RunClaimed, runs.RunStepped, runs.RunParked, runs.RunRequeued)
CARD_RULES: Mapping[type[Event], _OfCard] = {
    **dict.fromkeys(_SHOWN, run.show_run),
    **dict.fromkeys(_STEPS, run.stepped),
    board.CardSeen: job.seen,
    jobs.JobMade: job.made,
    board.CardExplained: state.explained,
    board.CardMoved: card_moved.moved,
    board.CardArrived: card_moved.arrived,
    board.CardConverted: card_moved.converted,
    board.CardReplaced: card_moved.replaced,
    board.CardDescribed: card_moved.described,
    board.CardRestored: card_moved.restored,
    board.LabelJudged: labelled,
    board.MoverFound: card_moved.mover_found,
    placement.RepositoryResolved: card_moved.placed,
    board.CardArchived: review.archived,
    board.IssueClosed: review.closed,
    board.IssueReopened: review.reopened,
    board.DecisionFailed: outbox.undecided,
    conversation.PersonSaid: comment.said,
    conversation.AssistantReplied: comment.replied,
    conversation.TaskAnswered: task.answered,
    conversation.AssistantFailed: comment.assistant_failed,
    conversation.CommandGiven: command.given,
    conversation.CommandRefused: command.refused,
    publication.EntryGivenUp: outbox.given_up,
    publication.EntryHeld: outbox.still_refused,
    pull.PullOpened: review.opened,
    pull.PullChanged: review.changed,
    pull.ChecksSettled: ci.settled,
    pull.GroupFormed: merge_queue.grouped,
    pull.GroupGone: merge_queue.ungrouped,
    pull.MergeAwaited: merge_queue.awaited,
    pull.MergeOutdated: merge_lane.outdated,
    pull.ReviewSubmitted: review.submitted,
    pull.ReviewDismissed: review.dismissed,
    runs.PlanApproved: run.plan_settled,
    runs.PlanRedirected: run.plan_settled,
    runs.QuestionAsked: run.question_asked,
    runs.QuestionAnswered: run.answered,
    runs.BranchPushed: run.pushed,
    runs.BranchExported: run.files_known,
    stage.SnapshotTaken: run.files_known,
    runs.ThreadAnswered: run.thread_answered,
    runs.RunEnded: run.ended,
    related.CardProposed: run.card_proposed,
    related.CardLinked: run.card_linked,
    related.PipelineLimited: run.limited,
    related.LinksSeen: issue_links.linked,
    findings.FollowUpMade: run.follow_up_made,
}

# A card that is a pull request: a command is answered there, and the board's moves are explained.
ANSWERED = (conversation.CommandGiven, conversation.CommandRefused)
ENTERED = (board.CardMoved, board.CardArrived)
# After these nobody may want a pending merge any more.
UNSETTLING = (
    *(board.CardMoved, board.MoverFound, board.CardArchived, board.IssueClosed),
    *(pull.PullChanged, pull.ReviewSubmitted, pull.ReviewDismissed),
)


def has_rule(kind: type[Event]) -> bool:
    """Tell whether any rule is about events of `kind`."""
    return kind in CARD_RULES or kind in BOARD_RULES


def decide(policy: Policy, snapshot: Snapshot | None, event: Event, now: datetime) -> Decision:
    """Return the decision on the event, with the card as it is now; a board's event needs no snapshot."""
    kind = type(event)
    if kind in BOARD_RULES:
        return BOARD_RULES[kind](policy, event, now)
    if not has_rule(kind):
        return Decision()  # told by what comes with it, or only kept
    if snapshot is None:
        return Decision((), (f"{kind.__name__} is about a card that is not known",))
    if snapshot.foreign and not snapshot.archived:
        return _possible(snapshot, foreign(policy, snapshot))
    if snapshot.pull_card and not snapshot.archived and kind not in ANSWERED:
        came = isinstance(event, board.CardSeen) and event.arrived
        return _possible(
            snapshot, pull_cards.explain_pull_card(policy, snapshot, entered=came or kind in ENTERED)
        )
    if snapshot.only_checks and isinstance(event, runs.RunEvent):
        checked = sibling_rebase.happened(policy, snapshot, event, now) + check_buttons.rewrite_check(
            snapshot, event
        )
        ended = isinstance(event, runs.RunEnded)
        if ended or isinstance(event, runs.RunQueued):
            checked += Decision((UpdateFace(snapshot.card_id),))
        return _possible(snapshot, (merge_queue.astray(policy, snapshot) if ended else Decision()) + checked)
    moved = isinstance(event, STEERED)
    decided = merge_queue.astray(policy, snapshot, moved=moved) if kind in UNSETTLING else Decision()
    decided = guard_move(
        policy, snapshot, event, decided + CARD_RULES[kind](policy, snapshot, event, now), now
    )
    return _possible(snapshot, decided + check_buttons.rewrite_check(snapshot, event))


def _possible(snapshot: Snapshot, decided: Decision) -> Decision:
    """Drop repeated intents, and those that GitHub refuses for a card that left the board."""
    refused: tuple[type[Intent], ...] = (UpdateFace, MoveCard) if snapshot.archived else ()
    once = dict.fromkeys(intent for intent in decided.intents if not isinstance(intent, refused))
    return Decision(tuple(once), tuple(dict.fromkeys(line for line in decided.because if line)))
