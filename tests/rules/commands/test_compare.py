"""`/cardinal compare`: two runs of the card in one table."""

from dataclasses import replace

import pytest

from ledger.ids import RunId
from ledger.rows.runs import ComparedRun
from ledger.states import Ending, RunKind, RunState
from rules.commands.compare import INSTEAD
from rules.intents.outbound import Say
from tests.rules.scene import R1, asks, card, ended, given, only, run

OWN = ComparedRun(
    ended(files_changed=3, lines_changed=20, commits=2, active_s=90.0), "It greets | all.", "passed"
)
FORK = ended(
    Ending.FAILED, run_id=RunId("r2"), kind=RunKind.RERUN, again_of=R1, forked_at="plan", reason="validation"
)
BOTH = (OWN, ComparedRun(FORK, "", "failed"))


def test_it_has_a_row_for_each_thing_that_people_choose_by() -> None:
    for words in ("r1 r2", "`r2`"):
        said = only(asks(card(run=ended(), run_id=R1, compared=BOTH), given("compare", words)), Say).text
        assert "| | r1 | r2 |" in said
        assert "| State | succeeded | failed: validation |" in said
        assert "| From | – | r1, at its plan |" in said
        assert "| Checks | passed | failed |" in said
        assert "| Change | 3 files, 20 lines, 2 commits | none |" in said
        assert "| Time at work | 1.5 min |" in said
        assert "| Report | `It greets \\| all.` | – |" in said
        assert "`/cardinal choose r2` makes it the card's." in said


def test_a_run_that_is_at_work_is_compared_as_it_stands() -> None:
    living = ComparedRun(replace(run(RunState.WORKING), run_id=RunId("r2")), "", "")
    said = only(asks(card(run_id=R1, compared=(OWN, living)), given("compare", "r1 r2")), Say).text
    assert "| Checks | passed | none yet |" in said


@pytest.mark.parametrize("words", ["r1", "r1 r1", "r1 r2 r3", "the two", "r0 r1"])
def test_other_words_name_no_two_runs(words: str) -> None:
    assert only(asks(card(run_id=R1, compared=BOTH), given("compare", words)), Say).text == INSTEAD


def test_a_run_of_another_card_is_not_compared() -> None:
    said = only(asks(card(run_id=R1, compared=(OWN,)), given("compare", "r1 r9")), Say).text
    assert said == "This card has no r9: compare two of its own runs."
