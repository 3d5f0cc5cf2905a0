"""Decisions into the ledger: their events with their effects, and outbox entries of outward intents."""

from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from bot.outbox import handlers
from bot.reactor import run_requests
from bot.state import loads
from ledger.event import Event, RuleEvent
from ledger.events import board as on_board
from ledger.events import run as on_run
from ledger.events.agent import CardToolAllowed
from ledger.events.branch import RunChosen
from ledger.events.budget import BudgetRaised
from ledger.events.instruction import AgentPinned, SkillsPinned, WorkflowPinned
from ledger.events.preference import LimitsChosen, PriorityChosen, RunReordered
from ledger.events.subscription import CardSubscribed, CardUnsubscribed
from ledger.log import event_store
from ledger.states import (
    RUN_HELD,
    CardState,
    Ending,
    RunState,
    check_card_step,
)
from ledger.views import cards, grants, halts, instructions, questions, runs, subscriptions
from rules.card.state import legal_states
from rules.intents import internal, outbound
from rules.policy.model import Policy

STOPPED_AT_ONCE = (RunState.QUEUED, RunState.PARKED, RunState.AWAITING_APPROVAL)


def apply(db: Connection, policy: Policy, decision: outbound.Decision, *, now: datetime) -> None:
    """Append the events and put outward intents into the outbox, in their order.

    An event that comes too late (the run moved on) is left out.
    """
    for intent in decision.intents:
        events: tuple[Event, ...] = ()
        match intent:
            case internal.ChangeCardState():
                events = _change_state(db, policy, intent)
            case internal.QueueRun():
                events = run_requests.queue_run(db, policy, intent)
            case outbound.Intent():
                again = isinstance(intent, outbound.CreateCard | outbound.OpenPull) and intent.again
                handlers.put_intent(db, intent, now, again=again)
            case on_board.CardExplained():
                events = _explain(db, intent)
            case _ if _is_news(db, intent):
                events = _with_effects(db, policy, intent, now)
        if events:
            event_store.append(db, *events, at=now)


def _explain(db: Connection, event: on_board.CardExplained) -> tuple[Event, ...]:
    """Return the event, where it says anything new."""
    card = cards.get(db, event.card_id)
    if card is None or (card.because, card.reason) == (event.because, event.reason):
        return ()
    return (replace(event, changed=card.reason is not event.reason),)


def _is_news(db: Connection, event: RuleEvent) -> bool:
    """Tell whether the event changes anything in the ledger."""
    match event:
        case on_board.CardHeldBack():
            card = cards.get(db, event.card_id)
            return card is not None and card.held_back != event.wanted
        case on_board.HaltLifted():
            return halts.of_board(db, event.board_id) is not None
        case (
            on_run.PlanApproved()
            | on_run.PlanRebound()
            | on_run.PlanRedirected()
            | on_run.QuestionAnswered()
            | on_run.QuestionAsked()
            | on_run.RunEnded()
            | on_run.RunRequeued()
            | on_run.RunStopAsked()
            | BudgetRaised()
        ):
            return _is_awaited(db, event)
        case CardToolAllowed():
            return event.pattern not in grants.of_card(db, event.card_id, exact=False)
        case (
            SkillsPinned()
            | AgentPinned()
            | WorkflowPinned()
            | PriorityChosen()
            | LimitsChosen()
            | RunChosen()
        ):
            return _is_other_choice(db, event)
        case RunReordered():
            run = runs.get(db, event.run_id)
            return run is not None and run.alive and run.priority is not event.priority
        case CardSubscribed():
            subscription = subscriptions.get(db, event.card_id, event.login)
            return subscription is None or subscription.run_id != event.run_id
        case CardUnsubscribed():
            return subscriptions.get(db, event.card_id, event.login) is not None
        case _:
            return True


def _is_other_choice(
    db: Connection,
    event: SkillsPinned | AgentPinned | WorkflowPinned | PriorityChosen | LimitsChosen | RunChosen,
) -> bool:
    """Tell whether something else was chosen for the card before."""
    match event:
        case SkillsPinned():
            return event.names != instructions.list_pinned_skills(db, event.card_id)
        case AgentPinned():
            return event.choice != instructions.find_pinned_agent(db, event.card_id)
        case WorkflowPinned():
            return event.name != instructions.find_pinned_workflow(db, event.card_id)[0]
    card = cards.get(db, event.card_id)
    if card is None:
        return False
    if isinstance(event, RunChosen):
        return card.run_id != event.run_id
    if isinstance(event, PriorityChosen):
        return card.priority != event.priority
    before = (card.limit_minutes, card.limit_turns, card.limit_usd, card.limit_effort)
    return (event.minutes, event.turns, event.usd, event.effort) != before


def _is_awaited(db: Connection, event: on_run.RunEvent) -> bool:
    """Tell whether the event about a run does not come too late."""
    run = runs.get(db, event.run_id)
    if run is None or run.state is RunState.ENDED:
        return False
    match event:
        case on_run.QuestionAnswered():
            return event.question_id in {it.question_id for it in questions.open_of_run(db, event.run_id)}
        case on_run.QuestionAsked():
            return not questions.open_of_run(db, event.run_id)
        case on_run.RunStopAsked():
            return run.stop_asked != event.how
        case on_run.RunEnded():
            return run.state in STOPPED_AT_ONCE
        case on_run.RunRequeued():
            return run.state in (RunState.PARKED, RunState.AWAITING_APPROVAL)
        case on_run.PlanApproved() | on_run.PlanRebound() | on_run.PlanRedirected():
            at_hand = (run.state, run.plan_revision) == (RunState.AWAITING_APPROVAL, event.revision)
            return at_hand and (not run.plan_approved or isinstance(event, on_run.PlanRedirected))
        case _:
            return True


def _change_state(db: Connection, policy: Policy, intent: internal.ChangeCardState) -> tuple[Event, ...]:
    card = cards.get(db, intent.card_id)
    if card is None:
        return ()
    if (card.state, card.because, card.reason) == (intent.after, intent.because, intent.reason):
        return ()
    run = runs.get(db, card.run_id) if card.run_id else None
    live = run is not None and run.state is not RunState.ENDED
    legal = legal_states(policy.archetype(card.column), intent.after, live=live)
    moved = card.state not in legal or card.state is CardState.ARCHIVED
    if card.state is not intent.after:
        check_card_step(legal, card.state, intent.after, moved=moved)
    return (on_board.CardStateChanged(card.card_id, card.state, intent.after, intent.because, intent.reason),)


def _with_effects(db: Connection, policy: Policy, event: RuleEvent, now: datetime) -> tuple[Event, ...]:
    """Return the event with its effects on the run: a raise is reserved at once within the limits, where a
    worker holds it; a stop takes effect at once where none does.
    """
    match event:
        case BudgetRaised():
            run = runs.get(db, event.run_id)
            held = run is not None and run.state in RUN_HELD
            more = loads.regrant(db, policy, event.run_id, event.usd, now) if held else None
            if more is not None:
                return (event, more)
        case on_run.RunStopAsked(how="pause"):
            run = runs.get(db, event.run_id)
            if run is not None and run.state is RunState.QUEUED:
                return (event, on_run.RunParked(run.run_id, "pause"))
        case on_run.RunStopAsked():
            run = runs.get(db, event.run_id)
            if run is not None and run.state in STOPPED_AT_ONCE:
                last = f"{run.state}: {run.last_line}" if run.last_line else str(run.state)
                why = f"{event.why} ({event.by})"
                return (event, on_run.RunEnded(run.run_id, Ending.CANCELLED, "cancelled", why, last))
    return (event,)
