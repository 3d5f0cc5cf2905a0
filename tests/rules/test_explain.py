"""Why a card does or does not move is said in one line that names who must do what."""

from dataclasses import replace

import pytest

from ledger.states import CardState, Ending, RunState, StopKind
from rules.explain import card_status, explain_with_workflow, why
from rules.snapshot import NOBODY, Snapshot
from tests.rules.scene import BOARD, POLICY, QUESTION, a_stop, card, ended, pull, run

S = CardState


@pytest.mark.parametrize(
    ("snapshot", "said"),
    [
        (card("Tasks", S.DRAFT), "nothing runs in this column: drag the card to Planning when"),
        (card("Parking", S.DRAFT), "the policy names no column `Parking`: nothing runs there"),
        (card("Planning", S.DISCUSSING), "the planning assistant answers"),
        (card("Planning", S.DISCUSSING, brief="Do it"), "execution: drag the card to In Progress, or write"),
        (
            card(run=run(RunState.QUEUED), because="In Progress is full with 3 runs", place=2),
            "r1 is queued, 2nd in the queue: In Progress is full with 3 runs",
        ),
        (
            card(run=run(RunState.AWAITING_APPROVAL)),
            "r1 is waiting for anyone with write access to approve its plan, or to /cardinal redirect it",
        ),
        (card(run=run(RunState.PARKED), questions=(QUESTION,)), "/cardinal answer. It asks: Which port?"),
        (
            card(run=run(RunState.PARKED, stop_asked=StopKind.PAUSE, stop_by="bob")),
            "r1 is paused by bob: /cardinal resume",
        ),
        (card(run=run(stop_asked=StopKind.CANCEL, stop_by="bob")), "r1 is being cancelled by bob"),
        (card(run=run(), held_back="Review"), "r1 is working: reading; then the card goes to Review"),
        (
            card(run=run(RunState.QUEUED), stops=(a_stop("board", BOARD, "al"),), place=0),
            "the board is stopped by al",
        ),
        (card(state=S.WORK_COMPLETE, run=ended()), "read its report, then drag the card to Review"),
        (card(state=S.FAILED, run=ended(Ending.FAILED, detail="no disk")), "r1 failed: no disk"),
        (card(state=S.FAILED, run=ended(Ending.LOST, reason="gave_up")), "r1 was lost: gave_up"),
        (card("Review", S.IN_REVIEW, pull=pull()), "pull request #5 is waiting for a review"),
        (card("Review", S.IN_REVIEW, pull=pull("merged")), "#5 is merged: drag the card to Done"),
        (
            card("Review", S.APPROVED, pull=pull(), verdict="approved", approved_head="abc123"),
            "is approved: drag the card to Done to merge it",
        ),
        (card("Done", S.BLOCKED, pull=pull(), because="merge refused: conflict"), "merge refused: conflict"),
        (card("Done", S.APPROVED, pull=pull()), "its pull request is being merged"),
        (card("Done", S.DONE, pull=pull("merged")), "pull request #5 is merged"),
        (card(archived=True), "the card left the board"),
        (card(archived=True, run=run()), "the card left the board"),
        (card(archived=True, mover=NOBODY), "the card left the board"),
        (card(archived=True, run=run(stop_asked=StopKind.CANCEL), mover=NOBODY), "the card left the board"),
        (
            card(archived=True, run=run(), mover=NOBODY),
            "GitHub did not say who took the card off the board: r1 continues."
            " To give it up, someone who may move cards restores it and archives it again, or cancels the run"
            " with /cardinal cancel",
        ),
        (card(archived=True, run=ended(), pull=pull(), mover=NOBODY), "#5 stays open"),
        (card(archived=True, run=ended(), pull=pull("closed"), mover=NOBODY), "the card left the board"),
    ],
)
def test_every_card_is_explained(snapshot: Snapshot, said: str) -> None:
    assert said in why(POLICY, snapshot)


@pytest.mark.parametrize(("asked", "said"), [("Which port?", "Which port? r1 has"), ("Wait", "Wait. r1 has")])
def test_the_workflow_follows_a_whole_sentence(asked: str, said: str) -> None:
    parked = run(RunState.PARKED, workflow="docs", workflow_rule="column")
    asks = card(run=parked, questions=(replace(QUESTION, text=asked),))
    assert f"It asks: {said} the workflow `docs`" in explain_with_workflow(POLICY, asks)


def test_the_status_has_the_card_the_run_and_the_pull_request() -> None:
    text = card_status(POLICY, card(state=S.WORKING, run=run(last_line="`x` @bob"), pull=pull(draft=True)))
    assert text.splitlines() == [
        "- **working** in `In Progress`",
        "- r1 is working: `x` @bob.",
        "- r1 working, $0.42, last said `´x´ @bob`",
        "- pull request #5: open, draft",
    ]
