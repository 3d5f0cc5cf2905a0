"""The one entry to the rules: an event and a card in, a decision out."""

from datetime import datetime

from ledger.event import Event
from ledger.events.board import BoardEvent, CardArrived, CardMoved, CardSeen
from ledger.events.run import RunEnded, RunEvent, RunQueued
from rules.answers import rule_about
from rules.card.move_rights import guard_move
from rules.handlers import access, check_buttons, merge_queue
from rules.handlers.access import refuse_outside_owner
from rules.intents.outbound import Decision, Intent, MoveCard, UpdateFace
from rules.policy.model import Policy
from rules.runs.rerun import follow_rerun
from rules.snapshot import Snapshot


def decide(policy: Policy, snapshot: Snapshot | None, event: Event, now: datetime) -> Decision:
    """Return the decision on the event, with the card as it is now; a board's event needs no snapshot."""
    rule = rule_about(type(event))
    if rule is None:
        return Decision()  # told by what comes with it, or only kept
    if isinstance(event, BoardEvent):
        return rule.decide(policy, event, now)
    if snapshot is None:
        return Decision((), (f"{type(event).__name__} is about a card that is not known",))
    if snapshot.is_outside_owner and not snapshot.archived:
        return _possible(snapshot, refuse_outside_owner(policy, snapshot))
    if snapshot.pull_card and not snapshot.archived and not rule.answers_pulls:
        came = isinstance(event, CardSeen) and event.arrived
        entered = came or isinstance(event, CardMoved | CardArrived)
        return _possible(snapshot, access.explain_pull_card(policy, snapshot, entered=entered))
    check = check_buttons.rewrite_check(snapshot, event, changes=rule.changes_check)
    if isinstance(event, RunEvent) and (snapshot.only_checks or snapshot.rerun is not None):
        return _possible(snapshot, _follow_beside(policy, snapshot, event, check, now))
    decided = rule.decide(policy, snapshot, event, now)
    if rule.unsettles_merge:
        decided = merge_queue.cancel_merge_if_unwanted(policy, snapshot, moved=rule.by_mover) + decided
    if rule.by_mover:
        decided = guard_move(policy, snapshot, event, decided, now)
    return _possible(snapshot, decided + check)


def _follow_beside(
    policy: Policy, snapshot: Snapshot, event: RunEvent, check: Decision, now: datetime
) -> Decision:
    """Return the decision on an event of a run that is no attempt at the card."""
    if snapshot.rerun is not None:
        return follow_rerun(snapshot, snapshot.rerun, event)
    decision = merge_queue.follow_check(policy, snapshot, event, now) + check
    ended = isinstance(event, RunEnded)
    if ended or isinstance(event, RunQueued):
        decision += Decision((UpdateFace(snapshot.card_id),))
    return (merge_queue.cancel_merge_if_unwanted(policy, snapshot) if ended else Decision()) + decision


def _possible(snapshot: Snapshot, decision: Decision) -> Decision:
    """Drop repeated intents, and those that GitHub refuses for a card that left the board."""
    refused: tuple[type[Intent], ...] = (UpdateFace, MoveCard) if snapshot.archived else ()
    once = dict.fromkeys(intent for intent in decision.intents if not isinstance(intent, refused))
    return Decision(tuple(once), tuple(dict.fromkeys(line for line in decision.because if line)))
