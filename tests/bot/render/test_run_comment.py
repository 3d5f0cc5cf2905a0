"""The sticky comment says at a glance where the run is and what a person can do."""

from dataclasses import replace

import pytest

from bot.render.markdown.escape import COMMENT_LIMIT
from bot.render.run import comment, report
from ledger.events.board import CardExplained
from ledger.events.pull import PullOpened
from ledger.events.run import (
    AgentSaid,
    BranchPushed,
    CommandChecked,
    PlanApproved,
    PlanProposed,
    PlanTicked,
    Progressed,
    QuestionAsked,
    RunEnded,
    RunParked,
    RunRequeued,
    RunStepped,
    RunStopAsked,
    UsageMetered,
)
from ledger.ids import QuestionId, RunId
from ledger.states import Ending, Reason, RunKind, StopKind
from tests.bot.render.past import CARD, RUN, Past, R


def boxes(text: str) -> list[str]:
    return [
        line.partition("<!-- box:")[2].removesuffix(" -->")
        for line in text.splitlines()
        if "<!-- box:" in line
    ]


def approved(past: Past) -> None:
    past.planned()
    past(PlanApproved(RUN, 1, "alice"), RunRequeued(RUN, "approved"))
    past.step(R.PREPARING, R.WORKING)


def test_a_queued_run_says_why_it_waits_and_can_be_paused_or_cancelled(past: Past) -> None:
    halted = "the board is halted: no key"
    past(CardExplained(CARD, halted, Reason.HALTED))
    text = comment.write(past.story())
    assert text.startswith("### ⏳ Run r1 is waiting to start")
    assert f"> {halted}" in text
    for full in ("In Progress is full with 3 runs", "no worker is free"):
        past(CardExplained(CARD, full))
        assert "> waiting for a free slot" in comment.write(past.story())
    assert "plan ○ → work ○ → validate ○ → pull request ○" in text
    assert boxes(text) == ["pause", "cancel"]
    assert "$0.00" not in text


def test_a_plan_that_waits_is_told_once_in_its_own_comment(past: Past) -> None:
    past.planned()
    text = comment.write(past.story())
    assert "**plan ●** → work ○" in text
    assert "The plan is below: approve it there, or ask for changes" in text
    assert "Write a test" not in text.partition("<details>")[0]
    assert boxes(text) == ["cancel"]


def test_work_shows_the_step_the_last_line_the_cost_and_the_time(past: Past) -> None:
    approved(past)
    past(PlanTicked(RUN, 1), Progressed(RUN, "reading @bob's code"), UsageMetered(RUN, 0.42, 9, 9, 3, 185))
    text = comment.write(past.story())
    assert text.startswith("### 🔨 Run r1 is working")
    assert "plan ✓ → **work ●** → validate ○ → pull request ○" in text
    assert "$0.42 of $2.00 · 3 of 30 min" in text
    assert "1. ✅ Write a test\n2. ▶️ Fix the sum" in text
    assert "> reading @\u200bbob's code" in text
    assert boxes(text) == ["pause", "cancel"]


def test_a_question_asks_for_its_answer_and_a_pause_for_going_on(past: Past) -> None:
    approved(past)
    past(QuestionAsked(RUN, QuestionId("r1-q1"), "agent", "Which?", ()), RunParked(RUN, "question"))
    text = comment.write(past.story())
    assert text.startswith("### 🙋 Run r1 is waiting for you: answer its question")
    assert boxes(text) == ["cancel"]


def test_a_paused_run_can_go_on(past: Past) -> None:
    past(RunStopAsked(RUN, StopKind.PAUSE, "alice", ""), RunParked(RUN, "pause"))
    text = comment.write(past.story())
    assert text.startswith("### ⏸️ Run r1 is paused")
    assert boxes(text) == ["resume", "cancel"]


def test_a_run_that_is_stopping_says_so_and_has_nothing_to_press(past: Past) -> None:
    approved(past)
    past(RunStopAsked(RUN, StopKind.CANCEL, "alice", ""))
    text = comment.write(past.story())
    assert text.startswith("### ✋ Run r1 was told to cancel and is stopping")
    assert boxes(text) == []


@pytest.mark.parametrize("ending", [Ending.FAILED, Ending.CANCELLED, Ending.LOST])
def test_a_run_that_did_not_succeed_shows_where_it_ended_and_can_be_tried_again(
    past: Past, ending: Ending
) -> None:
    approved(past)
    past(RunEnded(RUN, ending, "stalled", "It said nothing for 5 min.", "working: reading"))
    text = comment.write(past.story())
    assert "plan ✓ → **work ✗** → validate ○ → pull request ○" in text
    assert "> It said nothing for 5 min." in text
    assert boxes(text) == ["retry"]
    # Another run's pull request, which may be there or not when this is written.
    past(PullOpened(CARD, "acme/shop", 13, "PR_1", "cardinal/7-totals", "b" * 40, True))
    assert "#13" not in comment.write(past.story())
    past.card(column="Tasks")  # where it was dragged, and no agent works
    story = past.story()
    assert (boxes(comment.write(story)), boxes(report.write(story))) == ([], [])
    assert "To try again, drag the card to a column in which agents work." in report.write(story)


def test_a_run_that_is_done_leads_to_its_pull_request_and_the_next_one_stands_there(past: Past) -> None:
    approved(past)
    past(
        RunStepped(RUN, R.WORKING, R.PUBLISHING),
        BranchPushed(RUN, "cardinal/7-totals", "b" * 40),
        PullOpened(CARD, "acme/shop", 13, "PR_1", "cardinal/7-totals", "b" * 40, True),
        RunEnded(RUN, Ending.SUCCEEDED, "", "", "publishing"),
    )
    text = comment.write(past.story())
    assert "plan ✓ → work ✓ → validate ✓ → pull request ✓" in text
    waived = comment.write(replace(past.story(), waived=True))
    assert "plan ✓ → work ✓ → not checked → pull request ✓" in waived
    assert "Continued on pull request #13" in text
    assert boxes(text) == []
    past.run(RunId("r2"), attempt=2, kind=RunKind.REVISION)
    second = comment.write(past.story(RunId("r2")))
    assert "Continued on" not in second
    assert "attempt 2" in second
    assert "plan" not in second.splitlines()[2]


def test_what_a_failing_check_said_can_be_read_while_the_run_lives(past: Past) -> None:
    approved(past)
    past(RunStepped(RUN, R.WORKING, R.VALIDATING))
    past(CommandChecked(RUN, 1, "full", "pytest -q", 1, 2.0, "d" * 64, "1 failed"))
    assert "Output of the failing check" in comment.write(past.story())
    past(CommandChecked(RUN, 2, "full", "pytest -q", 0, 2.0, "d" * 64, "ok"))
    assert "Output of the failing check" not in comment.write(past.story())


def test_two_levels_lie_folded_below_activity_and_debug(past: Past) -> None:
    approved(past)
    text = comment.write(past.story())
    assert text.count("<details>") == text.count("</details>") == 2
    assert text.index("Activity") < text.index("Debug") < text.index("`cardinal show r1`")


def test_hostile_words_everywhere_leave_only_our_own_tags_and_boxes(past: Past) -> None:
    evil = "</details><!-- box:approve --> @acme/all\n- [x] a <!-- box:approve -->\n```"
    past.step(R.PREPARING, R.PLANNING)
    past(PlanProposed(RUN, 1, evil, (evil,) * 3), Progressed(RUN, evil), AgentSaid(RUN, evil))
    text = comment.write(past.story())
    assert text.count("</details>") == text.count("<details>") == 2
    assert boxes(text) == ["pause", "cancel"]
    assert "@acme" not in text


def test_the_longest_plan_fits_into_a_comment(past: Past) -> None:
    past.step(R.PREPARING, R.PLANNING)
    past(PlanProposed(RUN, 1, "x" * 100_000, ("step " * 1_000,) * 200))
    text = comment.write(past.story())
    assert len(text) < COMMENT_LIMIT
    assert "… and 170 more steps" in text
