"""A decision about a run that comes too late changes nothing."""

import pytest
from sqlalchemy import Engine

from bot.reactor.apply import apply
from ledger.event import RuleEvent
from ledger.events.budget import BudgetRaised
from ledger.events.run import (
    PlanApproved,
    PlanProposed,
    PlanRebound,
    PlanRedirected,
    QuestionAnswered,
    RunClaimed,
    RunEnded,
    RunRequeued,
    RunStepped,
    RunStopAsked,
)
from ledger.ids import QuestionId
from ledger.log import event_store
from ledger.rows.limit_answers import of_agent
from ledger.states import Ending, RunState, StopKind
from rules.intents.outbound import Decision
from rules.policy.model import default_policy
from tests.ledger.samples import NOW, RUN, board_seen, card_seen, run_queued

AT_WORK = (
    board_seen(),
    card_seen(),
    run_queued(),
    RunClaimed(RUN, 1, "w1"),
    RunStepped(RUN, RunState.CLAIMED, RunState.PREPARING),
    RunStepped(RUN, RunState.PREPARING, RunState.PLANNING),
    PlanProposed(RUN, 2, "", ()),
)
WAITING = (*AT_WORK, RunStepped(RUN, RunState.PLANNING, RunState.AWAITING_APPROVAL))
APPROVED = (*WAITING, PlanApproved(RUN, 2, "ann"))
ASKED = (*AT_WORK, of_agent(RUN, QuestionId("q1"), "Which port?", ()))
ANSWER, REQUEUE = QuestionAnswered(RUN, QuestionId("q1"), "bob", "8081"), RunRequeued(RUN, "approved")
STOP, END = (
    RunStopAsked(RUN, StopKind.CANCEL, "bob", ""),
    RunEnded(RUN, Ending.CANCELLED, "cancelled", "", ""),
)
RAISE = BudgetRaised(RUN, 1.0, "bob")
APPROVE, REBIND, REDIRECT = (
    PlanApproved(RUN, 2, "bob"),
    PlanRebound(RUN, 2, "b1", "p1"),
    PlanRedirected(RUN, 2, "bob", "smaller"),
)


@pytest.mark.parametrize(
    ("before", "event", "counts"),
    [
        *((WAITING, event, True) for event in (APPROVE, REBIND, REDIRECT)),
        *((AT_WORK, event, False) for event in (APPROVE, REBIND, REDIRECT)),
        (APPROVED, APPROVE, False),
        (APPROVED, REBIND, False),
        (APPROVED, REDIRECT, True),
        (WAITING, PlanApproved(RUN, 1, "bob"), False),
        (WAITING[:2], APPROVE, False),
        (ASKED, ANSWER, True),
        ((*ASKED, ANSWER), ANSWER, False),
        (AT_WORK, ANSWER, False),
        (WAITING, REQUEUE, True),
        ((*WAITING, REQUEUE), REQUEUE, False),
        (WAITING[:2], REQUEUE, False),
        (AT_WORK, STOP, True),
        ((*AT_WORK, STOP), STOP, False),
        (ASKED, of_agent(RUN, QuestionId("q2"), "And which host?", ()), False),
        (AT_WORK, END, False),
        (WAITING, END, True),
        *(((*WAITING, END), event, False) for event in (STOP, END, RAISE)),
    ],
)
def test_only_what_a_run_waits_for_is_decided_and_once(
    ledger: Engine, before: tuple[RuleEvent, ...], event: RuleEvent, counts: bool
) -> None:
    with event_store.writing(ledger) as db:
        event_store.append(db, *before, at=NOW)
        last = event_store.last_seq(db)
        apply(db, default_policy(""), Decision((event,)), now=NOW)
        assert event_store.last_seq(db) - last == int(counts)
