"""What notifies people: a plan, a question, a report; each says what to do next, later what was decided."""

import pytest

from bot.render import missing_checks, plan, question
from bot.render.pull import body as pull_body
from bot.render.run import comment, report
from ledger.event import Event
from ledger.events.budget import BudgetRaised
from ledger.events.pull import PullOpened, ReviewSubmitted, Thread
from ledger.events.run import (
    BranchExported,
    BranchPushed,
    CommandChecked,
    FinalReported,
    PlanApproved,
    PlanRedirected,
    QuestionAnswered,
    QuestionAsked,
    RunEnded,
    RunStopAsked,
    SessionStarted,
    ThreadAnswered,
    UsageMetered,
)
from ledger.ids import QuestionId
from ledger.log import event_store
from ledger.states import Ending, StopKind
from ledger.views import plans, questions
from tests.bot.render.past import CARD, RUN, Past, R

ASKED = QuestionId("r1-q1")


def plan_text(past: Past) -> str:
    with event_store.reading(past.engine) as db:
        row = plans.newest(db, RUN)
    assert row is not None
    return plan.write(past.story(), row)


def question_text(past: Past) -> str:
    with event_store.reading(past.engine) as db:
        row = questions.get(db, ASKED)
    assert row is not None
    return question.write(row)


def test_a_plan_says_what_approving_costs_and_how_to_change_it(past: Past) -> None:
    past.planned()
    text = plan_text(past)
    assert text.startswith("### 📝 Plan of run r1: is waiting for your approval")
    assert text.split("\n\n")[1].startswith("> [!IMPORTANT]\n>\n> Tick *Approve this plan*")
    assert "1. Write a test\n2. Fix the sum" in text
    assert "<!-- box:approve:r1:1 -->" in text
    assert "/cardinal redirect" in text
    assert "Limit once approved: $2.00, 30 min" in text


def test_a_plan_says_what_it_may_cost_with_what_people_added(past: Past) -> None:
    past.planned()
    past(BudgetRaised(RUN, 3.0, "alice"))
    assert "Limit once approved: $5.00, 30 min" in plan_text(past)


def test_a_settled_plan_says_who_decided_and_has_no_boxes(past: Past) -> None:
    past.planned()
    past(PlanApproved(RUN, 1, "alice"))
    assert plan_text(past).startswith("### 📝 Plan of run r1: approved by alice")
    assert "box:" not in plan_text(past)


def test_a_redirected_plan_quotes_what_should_be_different(past: Past) -> None:
    past.planned()
    past(PlanRedirected(RUN, 1, "alice", "Keep the old API."))
    assert "redirected by alice" in plan_text(past)
    assert "[!" not in plan_text(past)
    assert "> Keep the old API." in plan_text(past)


def test_a_plan_whose_run_ended_cannot_be_approved_any_more(past: Past) -> None:
    past.planned()
    past(RunEnded(RUN, Ending.CANCELLED, "cancelled", "", ""))
    assert "the run ended before anyone approved it" in plan_text(past)
    assert "box:" not in plan_text(past)


def test_choices_can_be_ticked_and_a_plain_reply_is_enough(past: Past) -> None:
    past(QuestionAsked(RUN, ASKED, "agent", "Half up or half even?", ("half up", "half even")))
    text = question_text(past)
    assert "- [ ] 2. half even <!-- box:choice:r1-q1:2 -->" in text
    assert "Tick one or reply" in text
    assert text.split("\n\n")[1] == "> [!IMPORTANT]\n>\n> Half up or half even?"


def test_an_answered_question_shows_the_answer_and_no_boxes(past: Past) -> None:
    past(QuestionAsked(RUN, ASKED, "agent", "Half up?", ("yes", "no")))
    past(QuestionAnswered(RUN, ASKED, "alice", "yes"))
    assert question_text(past).startswith("### ☑️ Question of run r1: answered by alice")
    assert "[!" not in question_text(past)
    assert "**Answer**\n\n> yes" in question_text(past)
    assert "box:" not in question_text(past)


def test_a_question_whose_run_ended_needs_no_answer(past: Past) -> None:
    past(QuestionAsked(RUN, ASKED, "agent", "Half up?", ("yes", "no")))
    past(RunEnded(RUN, Ending.CANCELLED, "cancelled", "", ""))
    assert "no answer is needed anymore" in question_text(past)
    assert "box:" not in question_text(past)


def test_a_card_dragged_away_asks_whether_to_cancel_or_to_finish(past: Past) -> None:
    past(QuestionAsked(RUN, ASKED, "leave", "It was dragged to Review.", ("Cancel the run", "Let it finish")))
    text = question_text(past)
    assert text.startswith("### 🙋 Run r1 is not finished, but its card was dragged away")
    assert "`/cardinal cancel` or `/cardinal finish`" in text


def done(past: Past) -> None:
    past.step(R.PREPARING, R.WORKING, R.VALIDATING, R.PUBLISHING)
    past(
        CommandChecked(RUN, 1, "full", "pytest -q", 1, 2.0, "d" * 64, "1 failed\n```\n@alice"),
        CommandChecked(RUN, 2, "full", "pytest -q", 0, 130.0, "d" * 64, "ok"),
        BranchExported(RUN, "cardinal/7-totals", "a" * 40, "b" * 40, 2, 14, 1),
        BranchPushed(RUN, "cardinal/7-totals", "b" * 40),
        PullOpened(CARD, "acme/shop", 13, "PR_1", "cardinal/7-totals", "b" * 40, True),
        FinalReported(
            RUN, "Totals add up.", ("price.py rounds once",), ("negative prices",), ("store cents?",)
        ),
    )


def test_a_success_says_what_was_done_and_what_to_check_with_evidence_and_cost(past: Past) -> None:
    done(past)
    past(RunEnded(RUN, Ending.SUCCEEDED, "", "", "publishing"))
    text = report.write(past.story())
    assert text.startswith("### ✅ Run r1 is done: #13 is ready for your review")
    for words in ("> Totals add up.", "- price.py rounds once", "- negative prices", "- store cents?"):
        assert words in text
    assert "| full | `pytest -q` | ✅ passed, after failing once | 2 min |" in text
    assert "exit code 1" not in text
    assert "2 files, 14 lines changed · 1 commit · $0.00" in text


def test_a_report_names_the_remarks_of_reviewers_that_are_still_open(past: Past) -> None:
    done(past)
    threads = (Thread("11", "price.py", 3, "Name it @bob"), Thread("12", "cart.py", 0, "Test it"))
    past(ReviewSubmitted(CARD, 1, "bob", True, "changes_requested", "Use cents.", threads))
    past(ThreadAnswered(RUN, "12", "Done."))
    past(RunEnded(RUN, Ending.SUCCEEDED, "", "", "publishing"))
    text = report.write(past.story())
    assert text.startswith("### ✅ Run r1 is done: 1 review comment still open on #13")
    remark = "- `price.py:3`, by bob, has no answer: Name it @\u200bbob\n"
    assert f"**Still open in the review**\n\n{remark}" in text
    assert "- bob requested changes and has not reviewed again\n" in text
    assert "Test it" not in text
    past(ThreadAnswered(RUN, "11", "Scripted: I cannot.", addressed=False))
    reply = "is not addressed: Name it @\u200bbob (the agent replied: Scripted: I cannot.)\n"
    assert f"- `price.py:3`, by bob, {reply}" in report.write(past.story())
    past(ReviewSubmitted(CARD, 2, "bob", True, "approved", "", ()))
    assert "has not reviewed again" not in report.write(past.story())


def test_a_failure_names_its_last_known_state_and_what_to_do_next(past: Past) -> None:
    past.step(R.PREPARING, R.WORKING, R.VALIDATING)
    past(CommandChecked(RUN, 1, "full", "pytest -q", 1, 2.0, "d" * 64, "1 failed\n```\n@alice"))
    past(RunEnded(RUN, Ending.FAILED, "validation", "5 tries did not help.", "validating: running pytest"))
    text = report.write(past.story())
    assert text.startswith("### ❌ Run r1 failed: the checks did not pass")
    assert "Last known state: validating: running pytest." in text
    assert "❌ exit code 1" in text
    assert "Next:" in text
    assert "<!-- box:retry -->" in text
    assert "````text\n1 failed" in text


def test_a_cancelled_run_gives_a_receipt(past: Past) -> None:
    done(past)
    past(RunStopAsked(RUN, StopKind.CANCEL, "alice", "not needed"))
    past(RunEnded(RUN, Ending.CANCELLED, "cancelled", "", "publishing"))
    text = report.write(past.story())
    assert text.startswith("### 🛑 Run r1 was cancelled by alice")
    receipt = "Stopped in 1.0 s · 1 commit pushed, pull request #13"
    assert receipt in text
    assert receipt in comment.write(past.story())


@pytest.mark.parametrize(
    ("commits", "said"),
    [
        (2, "2 commits made and kept in the run's workspace, nothing was pushed · $0.03"),
        (0, "no commit was made, nothing was pushed · $0.03"),
        (None, "Stopped in 1.0 s · nothing was pushed · $0.03"),
    ],
)
def test_the_comments_of_a_cancelled_run_say_the_same_about_its_commits(
    past: Past, commits: int | None, said: str
) -> None:
    past.step(R.PREPARING, R.WORKING)
    past(UsageMetered(RUN, 0.03, 1, 1, 1, 2.0), RunStopAsked(RUN, StopKind.CANCEL, "alice", "not needed"))
    past(RunEnded(RUN, Ending.CANCELLED, "cancelled", "", "working", commits))
    assert said in report.write(past.story())
    assert said in comment.write(past.story())


NEVER = "No agent was started and nothing was spent"


@pytest.mark.parametrize(
    ("before", "begun"),
    [
        ((), False),
        ((SessionStarted(RUN, "s1", "claude", "1.0"),), True),
        ((UsageMetered(RUN, 0.03, 1, 1, 1, 2.0),), True),
    ],
)
def test_that_nothing_was_spent_is_said_only_where_the_log_says_so(
    past: Past, before: tuple[Event, ...], *, begun: bool
) -> None:
    past.step(R.PREPARING)
    because = missing_checks.describe_gaps("acme/shop", has_file=False)
    past(*before, RunEnded(RUN, Ending.FAILED, "no_validation", because, "preparing"))
    assert (NEVER not in report.write(past.story())) is begun
    assert "spent" not in because


def test_the_pull_request_closes_its_issue_and_no_other(past: Past) -> None:
    done(past)
    past(FinalReported(RUN, "Also fixes #99", (), (), ()))
    body = pull_body.write(past.story())
    assert body.startswith("Closes #7\n")
    assert "#99" not in body
    assert "| full | `pytest -q` |" in body


def test_a_title_becomes_a_commit_message_that_closes_nothing(past: Past) -> None:
    past.card(title="Fixes #1 \u202e<script>\n" + "x" * 500)
    title = pull_body.title_of(past.row())
    assert "#1" not in title
    assert "\n" not in title
    assert "\u202e" not in title
    assert len(title) < 256
