"""What Cardinal's check says: what the gate has not seen has not passed."""

from dataclasses import replace

import pytest

from bot.render.pull import gate_check
from bot.render.pull.gate_check import GateRecord
from ledger.events.run import BranchPushed, CommandChecked
from ledger.states import RunState
from rules.handlers.check_buttons import EXPLAIN
from tests.bot.render.past import RUN, Past

HEAD = "a" * 40
GITHUB_LIMIT = 65_535  # docs.github.com/rest/checks/runs (output.summary)


def gate_record(
    past: Past, *, passed: bool | None, pushed: bool = True, live: bool = False, tail: str = ""
) -> GateRecord:
    past.step(RunState.PREPARING, RunState.WORKING)
    code = 0 if passed else 1
    past(CommandChecked(RUN, 1, "full", "pytest -q", code, 2.0, "d" * 64, tail, HEAD, "b" * 40))
    past(BranchPushed(RUN, "cardinal/7-totals", HEAD))
    story = past.story()
    run, checks = story.run, story.checks if passed is not None else ()
    of_card = (run if pushed else None, passed, checks, run if live else None)
    return GateRecord(HEAD, *of_card, last="b" * 40, by=RUN)


@pytest.mark.parametrize(
    ("passed", "pushed", "live", "conclusion", "title"),
    [
        (True, True, False, "success", "The checks passed"),
        (True, True, True, "success", "The checks passed"),
        (False, True, False, "failure", "1 of the checks failed"),
        (None, True, False, "action_required", "The gate has not checked this commit"),
        (None, False, False, "action_required", "Not checked: Cardinal checked bbbbbbb"),
        (None, False, True, "", "r1 is working"),
        (None, True, True, "", "r1 is working"),
    ],
)
def test_the_conclusion_is_about_the_commit(
    past: Past, passed: bool | None, pushed: bool, live: bool, conclusion: str, title: str
) -> None:
    found = gate_record(past, passed=passed, pushed=pushed, live=live)
    said = gate_check.write(found, (EXPLAIN,))
    assert said.get("conclusion", "") == conclusion
    assert said["status"] == ("completed" if conclusion else "in_progress")
    assert said["output"]["title"] == title
    assert [one["identifier"] for one in said["actions"]] == ["explain"]


def test_a_commit_that_nothing_checked_on_purpose_is_neutral_and_says_so(past: Past) -> None:
    found = replace(gate_record(past, passed=None), waived=True)
    for said in (gate_check.write(found, ()), gate_check.of_group(found, 9)):
        assert said["conclusion"] == "neutral"
        assert said["output"]["title"] == "Nothing was checked: validation is none"
        assert "`validation: none`" in said["output"]["summary"]


def test_a_commit_of_the_queue_always_gets_a_conclusion(past: Past) -> None:
    waiting = gate_record(past, passed=None, pushed=False, live=True)
    said = gate_check.of_group(waiting, 9)
    assert (said["status"], said["conclusion"], said["actions"]) == ("completed", "action_required", [])
    assert "#9" in said["output"]["summary"]


def test_a_commit_of_the_queue_is_not_let_through_on_the_word_of_checks_that_are_others_by_now(
    past: Past,
) -> None:
    passed = gate_record(past, passed=True)
    for found in (passed, replace(passed, passed=None, waived=True)):
        said = gate_check.of_group(found, 9, "the checks were changed. `/cardinal check` runs them")
        assert (said["conclusion"], said["output"]["title"]) == (
            "action_required",
            "The gate has to run again",
        )
        assert "`/cardinal check` runs them. Then put #9 into the queue again." in said["output"]["summary"]


def test_hostile_output_is_fenced_and_fits_what_github_takes(past: Past) -> None:
    said = gate_check.write(
        gate_record(past, passed=False, tail="```\n@bob <img src=x> " + "x" * 100_000), ()
    )
    assert len(said["output"]["summary"]) <= GITHUB_LIMIT
    assert "````text" in said["output"]["summary"]


def test_a_check_that_runs_again_takes_nothing_back_from_the_queue(past: Past) -> None:
    again = replace(gate_record(past, passed=True, live=True), pusher=None)
    assert gate_check.of_group(again, 9)["conclusion"] == "success"
