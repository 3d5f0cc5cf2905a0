"""Intents into the ledger: inward ones become events, outward ones outbox entries."""

from collections.abc import Callable, Mapping
from datetime import datetime

from sqlalchemy import Connection

from bot.outbox import handlers
from bot.reactor import run_requests
from bot.state import budgets
from ledger.event import Event
from ledger.events import board as on_board
from ledger.events import run as on_run
from ledger.events.agent import CardToolAllowed
from ledger.events.budget import BudgetRaised, BudgetReserved
from ledger.events.instruction import AgentPinned, SkillsPinned
from ledger.events.subscription import CardSubscribed, CardUnsubscribed
from ledger.ids import QuestionId
from ledger.log import event_store
from ledger.model.limit_answers import question
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
    """Append the events of inward intents and put outward ones into the outbox, in their order.

    An intent that comes too late (the run moved on) appends nothing.
    """
    for intent in decision.intents:
        if isinstance(intent, outbound.RuleEvent):
            events: tuple[Event, ...] = (intent,) if _is_news(db, intent) else ()
        elif translate := _INWARD.get(type(intent)):
            events = translate(db, policy, intent)
        else:
            events = ()
            again = isinstance(intent, outbound.CreateCard) and intent.again
            handlers.put_intent(db, intent, now, again=again)
        if events:
            event_store.append(db, *events, at=now)


def _is_news(db: Connection, event: outbound.RuleEvent) -> bool:
    """Tell whether the event changes anything in the ledger."""
    match event:
        case on_board.CardExplained():
            card = cards.get(db, event.card_id)
            return card is not None and (card.because, card.reason) != (event.because, event.reason)
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
            | on_run.RunRequeued()
        ):
            return _is_awaited(db, event)
        case CardToolAllowed():
            return event.pattern not in grants.of_card(db, event.card_id, exact=False)
        case SkillsPinned():
            return event.names != instructions.pinned(db, event.card_id)
        case AgentPinned():
            return event.choice != instructions.pinned_agent(db, event.card_id)
        case CardSubscribed():
            known = subscriptions.get(db, event.card_id, event.login)
            return known is None or known.run_id != event.run_id
        case CardUnsubscribed():
            return subscriptions.get(db, event.card_id, event.login) is not None
        case _:
            return True


def _is_awaited(
    db: Connection, event: on_run.PlanDecision | on_run.QuestionAnswered | on_run.RunRequeued
) -> bool:
    if isinstance(event, on_run.QuestionAnswered):
        return event.question_id in {it.question_id for it in questions.open_of_run(db, event.run_id)}
    run = runs.get(db, event.run_id)
    if isinstance(event, on_run.RunRequeued):
        return run is not None and run.state in (RunState.PARKED, RunState.AWAITING_APPROVAL)
    if run is None or (run.state, run.plan_revision) != (RunState.AWAITING_APPROVAL, event.revision):
        return False
    return not run.plan_approved or isinstance(event, on_run.PlanRedirected)


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


def _ask(db: Connection, policy: Policy, intent: internal.AskQuestion) -> tuple[Event, ...]:
    run = runs.get(db, intent.run_id)
    if run is None or run.state is RunState.ENDED or questions.open_of_run(db, intent.run_id):
        return ()
    # Not -q: the run's worker numbers its own questions, and may not know this one yet.
    question_id = QuestionId(f"{run.run_id}-b{run.questions + 1}")
    return (question(run.run_id, question_id, intent.subject, intent.text, intent.choices, part=intent.part),)


def _raise_budget(db: Connection, policy: Policy, intent: internal.RaiseBudget) -> tuple[Event, ...]:
    """Raise the run's budget; a run at work reserves the dollars at once, within the limits."""
    run = runs.get(db, intent.run_id)
    if run is None or run.state is RunState.ENDED:
        return ()
    raised = BudgetRaised(run.run_id, intent.usd, intent.by)
    more = budgets.regrant(db, policy, run.run_id, intent.usd, intent.at) if run.state in RUN_HELD else None
    if more is None:
        return (raised,)
    return (raised, BudgetReserved(run.run_id, more.usd, more.by_rule, more.limit_usd))


def _stop(db: Connection, policy: Policy, intent: internal.StopRun) -> tuple[Event, ...]:
    run = runs.get(db, intent.run_id)
    if run is None or run.state is RunState.ENDED or run.stop_asked == intent.how:
        return ()
    events: tuple[Event, ...] = (on_run.RunStopAsked(run.run_id, intent.how, intent.by, intent.why),)
    if run.state not in STOPPED_AT_ONCE:
        return events
    if intent.how == "pause":
        return (*events, on_run.RunParked(run.run_id, "pause")) if run.state is RunState.QUEUED else events
    return (*events, _ended(run, Ending.CANCELLED, "cancelled", f"{intent.why} ({intent.by})"))


def _end(db: Connection, policy: Policy, intent: internal.EndRun) -> tuple[Event, ...]:
    run = runs.get(db, intent.run_id)
    if run is None or run.state not in STOPPED_AT_ONCE:
        return ()
    return (_ended(run, intent.ending, intent.reason, intent.detail),)


def _ended(run: runs.RunRow, ending: Ending, reason: str, detail: str) -> on_run.RunEnded:
    last = f"{run.state}: {run.last_line}" if run.last_line else str(run.state)
    return on_run.RunEnded(run.run_id, ending, reason, detail, last)


_INWARD: Mapping[type[outbound.Intent], Callable[..., tuple[Event, ...]]] = {
    internal.ChangeCardState: _change_state,
    internal.QueueRun: run_requests.queue_run,
    internal.AskQuestion: _ask,
    internal.RaiseBudget: _raise_budget,
    internal.StopRun: _stop,
    internal.EndRun: _end,
}
