"""What was recorded while this machine's clock was ahead tells nothing of what people said since."""

from dataclasses import replace
from datetime import timedelta

import pytest

from ledger.event import Event
from ledger.events.pull import ReviewSubmitted
from ledger.states import CardState, RunState
from rules.snapshot import Snapshot
from tests.rules.scene import (
    ALICE,
    NOW,
    QUESTION,
    a_lift,
    a_plan,
    asks,
    card,
    ended,
    given,
    kinds,
    pull,
    run,
    said,
)

AHEAD = NOW + timedelta(hours=5)
ASKED = replace(QUESTION, asked_at=AHEAD)
ANSWERED = replace(QUESTION, answered_by="alice", answer="8080", answered_at=AHEAD)
PARKED = card(run=run(RunState.PARKED), questions=(ASKED,))
PLANNED = card(run=run(RunState.AWAITING_APPROVAL), plan=a_plan(at=AHEAD))
BEGUN = card(run=ended(), begun=(AHEAD,))
DONE = card("Done", CardState.BLOCKED, pull=pull(), moved_at=AHEAD, mover=ALICE)
DONE = replace(DONE, verdict="approved", approved_head=pull().head)
APPROVAL = ReviewSubmitted(DONE.card_id, 3, "bob", True, "approved", "", (), pull().head, submitted_at=NOW)


@pytest.mark.parametrize(
    ("snapshot", "event", "kind"),
    [
        (PARKED, said("8080", said_at=NOW), "QuestionAnswered"),
        (PARKED, given("answer", "1", said_at=NOW), "QuestionAnswered"),
        (PLANNED, given("approve", said_at=NOW), "PlanApproved"),
        (BEGUN, given("retry", said_at=NOW), "QueueRun"),
        (BEGUN, given("retry", source="box:retry", said_at=NOW), "QueueRun"),
        (card(run=run(), questions=(ANSWERED,)), said("And log it.", said_at=NOW), "RunSteered"),
    ],
)
def test_words_count_as_said_after_what_they_answer(snapshot: Snapshot, event: Event, kind: str) -> None:
    assert kind in kinds(asks(snapshot, event))


def test_an_approval_does_not_count_as_given_before_the_drag() -> None:
    assert "MergePull" not in kinds(asks(DONE, APPROVAL))
    assert "MergePull" in kinds(asks(replace(DONE, moved_at=NOW), APPROVAL))


def test_nobody_is_said_to_have_resumed_it_just_before() -> None:
    told = asks(card(lifted=a_lift(AHEAD)), given("resume", said_at=NOW))
    assert "first" not in str(told)
