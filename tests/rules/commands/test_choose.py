"""`/cardinal choose`: a run beside the card's own becomes its own, and what stands in its way is said."""

from dataclasses import replace
from typing import Any

import pytest

from ledger.events.branch import RunChosen
from ledger.events.run import RunEnded, RunStopAsked
from ledger.ids import NO_RUN, RunId
from ledger.rows.runs import PastRun, RunRow
from ledger.states import Ending, RunKind, RunState
from rules.chatops.parser import Parsed, Permitted, permit
from rules.intents.outbound import MoveCard, OpenPull, PostQuestion, Say, SupersedePull
from rules.policy.model import Policy
from rules.snapshot import Snapshot
from tests.rules.chatops.test_offers import PICKY
from tests.rules.commands.cases import handled, told
from tests.rules.scene import (
    CARD,
    POLICY,
    QUESTION,
    R1,
    asks,
    card,
    ended,
    given,
    kinds,
    only,
    policy,
    pull,
    run,
)

R2, R3 = RunId("r2"), RunId("r3")
BRANCH = "cardinal/12-add-login-r2"
BESIDE = ended(run_id=R2, kind=RunKind.RERUN, again_of=R1, pushed_head="c" * 40, branch=BRANCH)
OTHER = replace(run(), run_id=R3, kind=RunKind.RERUN, again_of=R1)
CHOSEN = RunChosen(CARD, R2, BRANCH, R1, "bob")


def beside(chosen: RunRow | None = BESIDE, own: RunRow | None = None, **changes: Any) -> Snapshot:
    past = PastRun(chosen, "", briefed=True) if chosen else None
    return card(**{"run": own or ended(Ending.FAILED), "past": past, **changes})


def test_it_is_the_card_s_from_then_on() -> None:
    chosen, said = handled("choose", beside(), "r2")
    assert chosen == CHOSEN
    assert isinstance(said, Say)
    assert BRANCH in said.text


def test_a_pull_request_a_question_and_other_runs_give_way() -> None:
    waits = run(RunState.PARKED, question_id=QUESTION.question_id)
    changes: dict[str, Any] = {
        "questions": (QUESTION,),
        "reruns": (OTHER,),
        "pull": pull(),
        "pull_repository": "acme/shop",
    }
    intents = handled("choose", beside(own=waits, **changes), "`R2`")
    end = only(intents, RunEnded)
    assert (end.run_id, end.ending, end.reason) == (R1, Ending.CANCELLED, "superseded")
    assert only(intents, RunStopAsked).run_id == R3
    assert only(intents, SupersedePull).number == 5
    assert only(intents, PostQuestion).question_id == QUESTION.question_id
    assert kinds(intents).index("RunEnded") < kinds(intents).index("RunChosen")
    assert "Superseded, and stopped: r1, r3." in only(intents, Say).text


@pytest.mark.parametrize(
    ("snapshot", "said"),
    [
        (beside(None), "this card has no r2"),
        (beside(own=BESIDE), "r2 is the card's own run already"),
        (beside(replace(BESIDE, kind=RunKind.FIRST)), "`/cardinal rerun r2` does it again beside the card"),
        (beside(replace(BESIDE, kind=RunKind.CHECK)), "`/cardinal rerun r2`"),
        (beside(replace(BESIDE, state=RunState.WORKING, ending=None)), "`/cardinal cancel r2`"),
        (beside(replace(BESIDE, state=RunState.QUEUED, ending=None)), "Choose it once it has ended"),
        (beside(replace(BESIDE, ending=Ending.FAILED)), "r2 failed, and only a run that succeeded"),
        (beside(replace(BESIDE, ending=Ending.CANCELLED)), "r2 cancelled, and only"),
        (beside(replace(BESIDE, pushed_head="")), "published no branch"),
        (beside(replace(BESIDE, folder="scratch/r2")), "`/cardinal folder r2` switches to its files"),
        (beside(pull=pull("merged")), "pull request #5 is merged already"),
        (beside(own=run()), "r1 is at work on the card: `/cardinal cancel`"),
        (beside(archived=True), "the card left the board"),
    ],
)
def test_it_says_why_nothing_was_chosen(snapshot: Snapshot, said: str) -> None:
    assert said in told("choose", snapshot, "r2")


@pytest.mark.parametrize("words", ["the second one", "r2 r3", "r0"])
def test_other_words_name_no_run(words: str) -> None:
    assert told("choose", beside(None), words).startswith("Name one run")


def test_its_pull_request_is_opened_and_the_card_takes_the_route_of_a_success() -> None:
    routed = policy(
        "In Progress: {archetype: execution, on_success: {move: Review}}\nReview: {archetype: review}"
    )
    own = replace(BESIDE, kind=RunKind.CHOSEN, again_of=NO_RUN)
    intents = asks(card(run=own), CHOSEN, by=routed)
    assert only(intents, OpenPull) == OpenPull(CARD, R2)
    assert only(intents, MoveCard).column == "Review"
    assert MoveCard.__name__ not in kinds(asks(card("Review", run=own), CHOSEN, by=routed))
    assert asks(card(run=replace(own, run_id=R3)), CHOSEN, by=routed) == ()


def test_who_may_not_approve_chooses_none() -> None:
    def may(role: str, by: Policy = POLICY) -> bool:
        return isinstance(permit(by, Parsed("choose", "r2"), role=role, login="carol"), Permitted)

    assert [may(role) for role in ("read", "triage", "write", "admin")] == [False, False, True, True]
    assert [may(role, PICKY) for role in ("write", "maintain", "admin")] == [False, False, True]


def test_the_second_who_chooses_the_same_is_told() -> None:
    assert "already" in only(asks(beside(own=BESIDE), given("choose", "r2", by="carol")), Say).text
