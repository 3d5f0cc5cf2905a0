"""What the gate never saw has not passed: it stays a draft, and is not merged."""

from dataclasses import replace
from typing import Any

import pytest

from ledger.events.board import CardMoved, StopLifted, StopOrdered
from ledger.events.pull import PullOpened
from ledger.events.run import RunEnded, RunStopAsked
from ledger.ids import RunId
from ledger.states import CardState, Ending, Gate
from rules.card.state import derive
from rules.explain import why
from rules.intents.internal import QueueRun
from rules.intents.outbound import MergePull, Say
from rules.runs.gate import why_not
from rules.runs.kill_switch import spread_stop
from tests.rules import scene
from tests.rules.scene import BOARD, CARD, R1, a_check, asks, card, ended, kinds, only, pull, states

DONE = CardMoved(CARD, "QA", "Done", by_cardinal=False)
QA = CardMoved(CARD, "Review", "QA", by_cardinal=False)
YES: dict[str, Any] = {"verdict": "approved", "approved_head": "abc123"}
OFTEN = (a_check(),) * 6  # so often within an hour that none starts by itself
NOT = [
    ({"gate": Gate.UNSEEN, "checked": "fedcba987654"}, "Cardinal checked fedcba9"),
    ({"gate": Gate.UNSEEN}, "it did not come from a run"),
    ({"gate": Gate.FAILED}, "the checks failed on its commit abc123"),
]


@pytest.mark.parametrize(("stands", "said"), NOT)
@pytest.mark.parametrize("requires", ["approved", "none"])
def test_nothing_is_merged_that_the_gate_did_not_let_through(
    stands: dict[str, Any], said: str, requires: str
) -> None:
    policy = scene.policy(
        f"Done: {{archetype: terminal, on_entry: [{{action: merge, requires: {requires}}}]}}"
    )
    snapshot = card("Done", CardState.APPROVED, run=ended(), pull=pull(**stands), checks=OFTEN, **YES)
    intents = asks(snapshot, DONE, by=policy)
    assert "MergePull" not in kinds(intents)
    assert states(intents) == [CardState.BLOCKED]
    assert said in only(intents, Say).text
    assert "/cardinal check" in only(intents, Say).text


def test_what_is_not_let_through_says_in_words_for_everybody_what_to_do_next() -> None:
    check = "with /cardinal check (no agent is started)"
    assert why_not(pull(gate=Gate.FAILED)) == (
        f"the checks failed on its commit abc123. Push a fix, or run the checks on it once more {check}"
    )
    assert why_not(pull(gate=Gate.UNSEEN)).endswith(
        f"it did not come from a run. Run the checks on it {check}"
    )


@pytest.mark.parametrize("gate", [Gate.PASSED, Gate.NOTHING])
def test_what_passed_or_had_nothing_to_pass_is_merged(gate: Gate) -> None:
    intents = asks(card("Done", CardState.APPROVED, run=ended(), pull=pull(gate=gate), **YES), DONE)
    assert only(intents, MergePull).head == "abc123"
    assert why_not(pull(gate=gate)) == ""


def test_unfinished_work_stays_a_draft_though_the_gate_let_it_through() -> None:
    draft = pull(draft=True, unfinished=True)
    entered = asks(card("QA", CardState.IN_REVIEW, run=ended(Ending.CANCELLED), pull=draft), QA)
    assert "MarkReady" not in kinds(entered)
    assert "Let a run finish it with /cardinal retry" in only(entered, Say).text
    assert "not finished" not in why_not(replace(draft, draft=False))  # a person took it out


@pytest.mark.parametrize(("stands", "said"), NOT)
def test_it_stays_a_draft_until_the_gate_has_let_its_very_commit_through(
    stands: dict[str, Any], said: str
) -> None:
    draft = pull(draft=True, **stands)
    entered = asks(card("QA", CardState.IN_REVIEW, run=ended(), pull=draft), QA)
    assert "MarkReady" not in kinds(entered)
    assert said in only(entered, Say).text
    finished = RunEnded(R1, Ending.SUCCEEDED, "", "", "publishing")
    assert "MarkReady" not in kinds(asks(card(run=ended(), pull=draft), finished))
    opened = PullOpened(CARD, "acme/shop", 5, "PR_1", "cardinal/12-add-login", "abc123", draft=True)
    assert "MarkReady" not in kinds(asks(card(run=ended(), pull=draft), opened))
    let_through = pull(draft=True)
    for event in (finished, opened):
        assert "MarkReady" in kinds(asks(card(run=ended(), pull=let_through), event))


@pytest.mark.parametrize("reason", ["", "validation"])
def test_what_was_pushed_during_a_check_is_checked_next_whatever_came_of_that(reason: str) -> None:
    done = (a_check(),)
    snapshot = card("Review", CardState.IN_REVIEW, run=ended(), pull=pull(gate=Gate.UNSEEN), checks=done)
    ending = Ending.FAILED if reason else Ending.SUCCEEDED
    over = RunEnded(RunId("r5"), ending, reason, "", "validating")
    assert only(asks(replace(snapshot, beside=a_check()), over), QueueRun).kind == "check"
    broken = RunEnded(RunId("r5"), Ending.FAILED, "repository", "gone", "")
    assert "QueueRun" not in kinds(asks(replace(snapshot, beside=a_check()), broken))


def test_a_kill_switch_cancels_a_run_that_only_checks() -> None:
    checks = (a_check(alive=True),)
    stop = spread_stop(card("Review", checks=checks), StopOrdered(BOARD, "board", BOARD, "bob")).intents
    assert (only(stop, RunStopAsked).run_id, only(stop, RunStopAsked).how) == ("r5", "cancel")
    assert spread_stop(card("Review", checks=checks), StopLifted(BOARD, "board", BOARD, "bob")).intents == ()


APPROVABLE = [
    ({}, CardState.APPROVED, "drag the card to Done to merge it"),
    ({"gate": Gate.UNSEEN}, CardState.BLOCKED, "cannot be merged: its commit abc123 is not checked"),
    ({"gate": Gate.FAILED}, CardState.BLOCKED, "cannot be merged: the checks failed"),
    ({"draft": True}, CardState.BLOCKED, "its work is not finished"),
    ({"draft": True, "gate": Gate.UNSEEN}, CardState.BLOCKED, "its work is not finished"),
    ({"head": "fedcba"}, None, "Have it approved again"),
]


@pytest.mark.parametrize(("column", "stale"), [("Review", "in_review"), ("In Progress", "work_complete")])
@pytest.mark.parametrize(("stands", "state", "said"), APPROVABLE)
def test_a_card_says_drag_me_on_only_where_done_would_merge_it(
    stands: dict[str, Any], state: CardState | None, said: str, column: str, stale: str
) -> None:
    run = replace(ended(), mode="investigate") if "draft" in stands else ended()
    snapshot = card(column, CardState.WORK_COMPLETE, run=run, pull=pull(**stands), checks=OFTEN, **YES)
    derived = derive(scene.POLICY, snapshot)
    assert derived is not None
    assert derived.state == (state or stale)
    assert said in derived.because
    assert said in why(scene.POLICY, snapshot)
    seldom = derive(scene.POLICY, replace(snapshot, checks=()))
    assert seldom is not None
    assert ("checked first" in seldom.because) == (stands == {"gate": Gate.UNSEEN})
    merged = "MergePull" in kinds(asks(replace(snapshot, column="Done", state=CardState.APPROVED), DONE))
    assert merged == (derived.because.endswith("drag the card to Done to merge it"))
