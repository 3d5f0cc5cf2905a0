"""Reviews, changes of the pull request, closing of the issue: their effects on the card."""

from datetime import datetime

from ledger.events.board import ABANDONED, CardArchived, IssueClosed, IssueReopened
from ledger.events.conversation import PersonSaid
from ledger.events.pull import PullChanged, PullOpened, ReviewDismissed, ReviewSubmitted
from ledger.events.run import RunStopAsked
from ledger.states import CardState, Ending, StopKind
from rules.answers import answers
from rules.card.column_actions import act, has_action
from rules.card.left_column import end_waiting, only_waits
from rules.card.move_rights import is_abandoned, is_dragged, merges
from rules.card.routes import plan_route
from rules.card.trigger import CLOCKS_APART, RuleTrigger, is_to_come
from rules.columns.review import changes_asked
from rules.handlers import comment
from rules.intents.internal import show_card, show_sentence
from rules.intents.outbound import (
    ClosePull,
    Decision,
    DeleteBranch,
    Intent,
    MoveCard,
    Say,
    UpdateFace,
    UpdatePull,
    WriteRunComment,
)
from rules.policy.model import Policy
from rules.runs.check_only import check_push
from rules.runs.gate import leaves_draft, why_not
from rules.runs.rerun import stop_all_reruns
from rules.snapshot import Snapshot
from rules.text import plain, sentence


@answers(ReviewSubmitted, unsettles_merge=True)
def take_review(policy: Policy, snapshot: Snapshot, event: ReviewSubmitted, now: datetime) -> Decision:
    """Take a trusted review's verdict; while a run is alive the next one gets its threads."""
    if not event.trusted:
        words = PersonSaid(
            card_id=event.card_id,
            comment_id=event.review_id,
            place=event.verdict,
            author=event.author,
            trusted=False,
            text=event.body,
        )
        return comment.serve_comment(policy, snapshot, words, now)
    if event.verdict not in ("approved", "changes_requested") or event.verdict != snapshot.verdict:
        return Decision((), ("the review gives no verdict, or a newer one has",))
    if snapshot.live_run:
        return Decision((), (f"{snapshot.live_run.run_id} is alive: the review is waiting for its end",))
    if event.verdict == "approved":
        return _show_approval(policy, snapshot, event, now)
    request = changes_asked(snapshot)
    if onward := _send_on(policy, snapshot, event):
        goes = f"the card goes to {plain(onward.column, 60)} for it, as its policy says"
        return show_card(CardState.CHANGES_REQUESTED, goes) + Decision((onward,), (goes,))
    if snapshot.archetype.STARTS_RUNS:
        request = request.replace("drag the card to", "comment /cardinal retry, or drag the card again to")
    else:
        request += " (or comment /cardinal retry once it is there)"
    text = f"{request[0].upper()}{request[1:]}."
    notice = Decision((Say(snapshot.card_id, f"review:{event.review_id}", text, "pull"),))
    return show_card(CardState.CHANGES_REQUESTED, request) + notice


def _send_on(policy: Policy, snapshot: Snapshot, event: ReviewSubmitted) -> MoveCard | None:
    archetype = snapshot.archetype
    if not (archetype.HAS_REVIEWS or archetype.STARTS_RUNS) or not snapshot.open_pull:
        return None
    return plan_route(policy, snapshot, "on_changes_requested", f"changes:{event.review_id}")


def _show_approval(policy: Policy, snapshot: Snapshot, event: ReviewSubmitted, now: datetime) -> Decision:
    """Show an approval; merge in a last column only if it was approved before somebody dragged it there."""
    column = snapshot.column_policy
    if column is None or not snapshot.archetype.IS_FINAL or not snapshot.open_pull:
        return show_card()
    moved_at, said_at = snapshot.moved_at, event.submitted_at
    missed = said_at is not None and said_at <= moved_at + CLOCKS_APART and not is_to_come(moved_at, now)
    if missed and snapshot.state is CardState.BLOCKED and is_dragged(policy, snapshot):
        trigger = RuleTrigger(f"review:{event.review_id}", event.author, now)
        return act(policy, snapshot, column.entry_actions, trigger)
    return show_sentence("it is approved: drag the card here again, or /cardinal retry, to merge it")


@answers(ReviewDismissed, unsettles_merge=True)
def forget_review(policy: Policy, snapshot: Snapshot, event: ReviewDismissed, now: datetime) -> Decision:
    if snapshot.live_run:
        return Decision()
    derived = snapshot.archetype.AFTER_DISMISSAL
    if snapshot.verdict == "none" and derived:
        return show_card(derived.state, derived.because)
    return show_card()


@answers(PullOpened, changes_check=True)
def apply_earlier_end(policy: Policy, snapshot: Snapshot, event: PullOpened, now: datetime) -> Decision:
    """Apply an earlier end of the run, or of the card, to the pull request."""
    card, run = snapshot.card_id, snapshot.run
    if is_abandoned(policy, snapshot):
        return abandon(snapshot, "the card was given up before its pull request was there")
    decision = Decision((UpdateFace(card),), (f"pull request #{event.number} is open",))
    if run:
        decision += Decision((WriteRunComment(card, run.run_id),))
    if run and run.ending is Ending.SUCCEEDED and snapshot.open_pull:
        ready = leaves_draft(snapshot, run.run_id).intents if snapshot.open_pull.draft else ()
        decision += Decision((UpdatePull(card), *ready))
    elif snapshot.open_pull and snapshot.open_pull.unfinished:  # the run may have parked or ended meanwhile
        decision += Decision((UpdatePull(card),))
    if snapshot.state is CardState.DONE and merges(snapshot):  # it came before its pull request
        because = (
            f"to merge pull request #{event.number}, drag the card out and in again, or say /cardinal retry"
        )
        notice = Say(card, f"late-pull:{event.number}", sentence(because), "pull")
        return decision + show_card(CardState.BLOCKED, because) + Decision((notice,))
    # It may have been held or given up, and the card says so.
    return decision if snapshot.live_run or not run else decision + show_card()


@answers(PullChanged, unsettles_merge=True, changes_check=True)
def follow_pull(policy: Policy, snapshot: Snapshot, event: PullChanged, now: datetime) -> Decision:
    """Follow the pull request: merged, closed, or only seen in another shape."""
    pull, card = snapshot.pull, snapshot.card_id
    if snapshot.archived or pull is None or pull.number != event.number or pull.state != event.state:
        return Decision((), ("the pull request has changed again since",))
    face = Decision((UpdateFace(card),))
    if event.state == "open":
        blocked = snapshot.state is CardState.BLOCKED and not snapshot.live_run
        reopened = blocked and snapshot.archetype.HAS_REVIEWS
        decision = check_push(policy, snapshot, now)
        decision = decision if decision.intents else _stays_draft(snapshot)
        return face + (show_card() if reopened else Decision()) + decision
    stopped = _stop(snapshot, f"pull request #{event.number} was {event.state}")
    if event.state == "closed":
        return stopped + face + (Decision() if snapshot.live_run else show_card())
    column = snapshot.column_policy
    deletes = column is not None and has_action(column.entry_actions, "delete_branch")
    deleted: tuple[Intent, ...] = (DeleteBranch(card, pull.branch),) if deletes else ()
    return stopped + Decision(deleted) + show_card() + face


def _stays_draft(snapshot: Snapshot) -> Decision:
    """Say of finished work that a push keeps it a draft, where no check of it starts by itself."""
    pull, run = snapshot.open_pull, snapshot.run
    waits = snapshot.state is CardState.WORK_COMPLETE and run is not None and run.has_finished_work
    if pull is None or not (waits and pull.draft) or not (because := why_not(pull)):
        return Decision()
    return show_sentence(f"pull request #{pull.number} stays a draft: {because}")


@answers(IssueClosed, unsettles_merge=True, reads=("reruns",))
def serve_close(policy: Policy, snapshot: Snapshot, event: IssueClosed, now: datetime) -> Decision:
    """Give the card up when somebody who may closed its issue as not planned; else only say so.

    An issue can be closed by whoever opened it, which must not be enough to destroy the team's work.
    """
    if not snapshot.closed:
        return Decision((), ("the issue was reopened since",))
    by, how = plain(event.by, 40) or "somebody", event.reason.replace("_", " ")
    if event.reason in ABANDONED and not event.trusted:
        because = f"the issue was closed as {how} by {by}, who may not give it up: archive the card to do so"
        if snapshot.live_run:
            return show_sentence(because)
        if snapshot.archetype.IS_FINAL:
            return show_card()
        return show_card(CardState.BLOCKED, because)
    if event.reason in ABANDONED:
        because = f"{by} closed the issue as {how}"
        given_up = abandon(snapshot, because) + stop_all_reruns(snapshot, because)
        if snapshot.live_run:
            return given_up
        done = snapshot.archetype.IS_FINAL
        return given_up + show_card(CardState.DONE if done else CardState.BLOCKED, because)
    run = snapshot.live_run
    if run and event.trusted and only_waits(run):
        because = f"{by} closed the issue as {how} before {run.run_id} began: reopen it, then /cardinal retry"
        return Decision((end_waiting(run, "superseded", because),), (because,))
    if run:
        return Decision((), (f"{run.run_id} continues: the issue was closed as {how}",))
    return show_card()


@answers(IssueReopened)
def show_reopened(policy: Policy, snapshot: Snapshot, event: IssueReopened, now: datetime) -> Decision:
    """Show the card again as its run and pull request say; it starts nothing by itself."""
    return show_card() if not snapshot.closed else Decision()


@answers(CardArchived, by_mover=True, unsettles_merge=True, reads=("reruns",))
def retire_card(policy: Policy, snapshot: Snapshot, event: CardArchived, now: datetime) -> Decision:
    """Give up unmerged work, and let the card rest."""
    if not snapshot.archived:
        return Decision((), ("the card is back on the board",))
    because = f"the card left the board ({plain(event.reason, 60)})"
    given_up = abandon(snapshot, because) + stop_all_reruns(snapshot, because)
    return given_up + show_card(CardState.ARCHIVED, because)


def abandon(snapshot: Snapshot, because: str) -> Decision:
    """Stop the run, close the open pull request and delete its branch."""
    stopped, pull = _stop(snapshot, because), snapshot.open_pull
    if pull is None:
        return stopped
    card = snapshot.card_id
    return stopped + Decision((ClosePull(card, because), DeleteBranch(card, pull.branch)), (because,))


def _stop(snapshot: Snapshot, because: str) -> Decision:
    """Stop the live run and the check of the pull request: their results are of no use any more."""
    run, check = snapshot.live_run, snapshot.live_check
    ids = [run.run_id] if run is not None and not run.is_cancelling else []
    ids += [check.run_id] if check is not None and not check.stop_by else []
    stops = tuple(RunStopAsked(run_id, StopKind.CANCEL, "policy", because) for run_id in ids)
    return Decision(stops, (because,) if stops else ())
