"""The one entry to the rules: an event and a card in, a decision out."""

from datetime import datetime

from ledger.event import Event
from ledger.events.board import BoardEvent, CardArrived, CardMoved, CardSeen
from ledger.events.run import RERUN, RunEnded, RunEvent, RunQueued
from rules.answers import Rule, rule_about
from rules.card.move_rights import guard_move
from rules.card.state import conclude_decision
from rules.handlers import access, check_buttons, merge_queue
from rules.intents.outbound import Decision, UpdateFace
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
    decided = _decide_about_card(rule, policy, snapshot, event, now)
    return conclude_decision(policy, snapshot, decided)


def _decide_about_card(
    rule: Rule, policy: Policy, snapshot: Snapshot, event: Event, now: datetime
) -> Decision:
    if snapshot.is_outside_owner and not snapshot.archived:
        return access.refuse_outside_owner(snapshot)
    if snapshot.pull_card and not snapshot.archived and not rule.answers_pulls:
        came = isinstance(event, CardSeen) and event.arrived
        return access.explain_pull_card(snapshot, entered=came or isinstance(event, CardMoved | CardArrived))
    beside = snapshot.beside
    if beside is not None and isinstance(event, RunEvent) and beside.kind == RERUN:
        return follow_rerun(snapshot, beside, event)
    decided = (merge_queue.follow_check if beside else rule.decide)(policy, snapshot, event, now)
    if rule.unsettles_merge or (beside and isinstance(event, RunEnded)):
        decided = merge_queue.cancel_merge_if_unwanted(policy, snapshot, moved=rule.by_mover) + decided
    if rule.by_mover:
        decided = guard_move(policy, snapshot, event, decided, now)
    decided += check_buttons.rewrite_check(snapshot, event, changes=rule.changes_check)
    shown = beside and isinstance(event, RunEnded | RunQueued)
    return decided + Decision((UpdateFace(snapshot.card_id),) if shown else ())
