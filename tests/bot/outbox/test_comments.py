"""Comments of Cardinal's own are posted once, edited in place, and found again after a crash."""

from dataclasses import replace

import pytest

from bot.github.client import Hub
from bot.render.markdown.marker import marker_of
from ledger.events.publication import EntryGivenUp, EntryPublished
from ledger.events.run import (
    BranchPushed,
    FinalReported,
    PlanApproved,
    PlanProposed,
    Progressed,
    QuestionAnswered,
    QuestionAsked,
    RunEnded,
)
from ledger.ids import QuestionId, RunId
from ledger.states import Ending, RunKind
from rules.intents.outbound import (
    PostPlan,
    PostQuestion,
    PostReport,
    React,
    Say,
    WriteRunComment,
)
from tests.bot.outbox.conftest import BRANCH, Stage
from tests.bot.render.past import RUN, R

ASKED = QuestionId("r1-q1")


def test_the_first_comment_goes_at_once_and_the_next_states_edit_it(stage: Stage) -> None:
    stage.do(WriteRunComment(stage.card_id, RUN))
    assert len(stage.bodies) == 1
    assert "is waiting to start" in stage.bodies[0]
    stage.past.planned()
    stage.clock.forward(5)
    stage.do(WriteRunComment(stage.card_id, RUN))
    assert len(stage.bodies) == 1
    assert "approve its plan" in stage.bodies[0]


def test_a_comment_that_says_so_already_is_not_sent_again_and_makes_no_event(stage: Stage) -> None:
    stage.do(WriteRunComment(stage.card_id, RUN))
    stage.forge.gateway.calls.clear()
    stage.clock.forward(5)
    counts = stage.do(WriteRunComment(stage.card_id, RUN))
    assert (counts.settled, counts.unchanged) == (0, 1)
    assert stage.calls("POST", "PATCH") == []
    assert len(stage.events(EntryPublished)) == 1


def test_a_box_that_came_to_nothing_is_unticked_so_that_it_can_be_ticked_again(stage: Stage) -> None:
    stage.do(WriteRunComment(stage.card_id, RUN))
    written = stage.bodies[0]
    comment = stage.issue.comments[0]
    ticked = written.replace("- [ ] Pause", "- [x] Pause").replace("\n", "\r\n")
    stage.forge.store.issues.edit_comment(comment, ticked, actor=stage.alice)
    stage.clock.forward(5)
    stage.do(WriteRunComment(stage.card_id, RUN))
    assert stage.bodies == [written]


def test_mere_progress_waits_and_only_the_last_line_is_sent(stage: Stage) -> None:
    stage.do(WriteRunComment(stage.card_id, RUN))
    stage.past.step(R.PREPARING, R.WORKING)
    stage.clock.forward(5)
    stage.do(WriteRunComment(stage.card_id, RUN))
    stage.forge.gateway.calls.clear()
    for n in range(20):
        stage.happen(Progressed(RUN, f"line {n}"))
        stage.do(WriteRunComment(stage.card_id, RUN))
        stage.clock.forward(0.05)
    assert stage.calls("PATCH") == []
    stage.clock.forward(5)
    stage.publish()
    assert len(stage.calls("PATCH")) == 1
    assert "> line 19" in stage.bodies[0]


def test_the_longer_a_run_works_the_rarer_its_edits(stage: Stage) -> None:
    stage.do(WriteRunComment(stage.card_id, RUN))
    stage.past.step(R.PREPARING, R.WORKING)
    stage.clock.forward(600)
    stage.do(WriteRunComment(stage.card_id, RUN))
    edits = len(stage.calls("PATCH"))
    for n in range(59):
        stage.clock.forward(1)
        stage.happen(Progressed(RUN, f"line {n}"))
        stage.do(WriteRunComment(stage.card_id, RUN))
    assert len(stage.calls("PATCH")) == edits
    stage.happen(RunEnded(RUN, Ending.FAILED, "stalled", "silence", "working: line 59"))
    stage.do(WriteRunComment(stage.card_id, RUN))
    assert len(stage.calls("PATCH")) == edits + 1


@pytest.mark.parametrize("kind", ["plan", "question", "run"])
def test_a_comment_that_was_given_up_after_it_was_posted_is_not_posted_again(stage: Stage, kind: str) -> None:
    stage.past.planned()
    stage.happen(QuestionAsked(RUN, ASKED, "agent", "Half up?", ("yes", "no")))
    intent = {
        "plan": PostPlan(stage.card_id, RUN, 1),
        "question": PostQuestion(stage.card_id, RUN, ASKED),
        "run": WriteRunComment(stage.card_id, RUN),
    }[kind]
    stage.fault(method="POST", path="/comments$", status=502, after=True, cut=True)
    stage.do(intent)
    stage.fault(method="GET", path="/comments$", status=422, count=3)
    for wait_s in (6, 30, 90):
        stage.clock.forward(wait_s)
        counts = stage.publish()
    assert (counts.given_up, len(stage.bodies)) == (1, 1)
    stage.happen(QuestionAnswered(RUN, ASKED, "alice", "yes"), PlanApproved(RUN, 1, "alice"))
    assert stage.do(intent).settled == 1
    assert len(stage.bodies) == 1
    assert "box:approve" not in stage.bodies[0]


def test_whoever_must_answer_is_mentioned_once_over_a_lost_answer_another_host_and_a_second_wish(
    stage: Stage,
) -> None:
    stage.past.planned()
    stage.happen(QuestionAsked(RUN, ASKED, "agent", "Half up?", ("yes", "no")))
    ask = PostQuestion(stage.card_id, RUN, ASKED)
    stage.fault(method="POST", path="/comments$", status=502, after=True, cut=True)
    assert stage.do(ask).postponed == 1
    stage.context = replace(stage.context, app=Hub(stage.config, stage.clock))  # which has sent nothing
    stage.clock.forward(6)
    assert stage.publish().settled == 1
    stage.do(ask, WriteRunComment(stage.card_id, RUN))
    assert [body.count("@bob") for body in stage.bodies] == [1, 0]


def test_somebody_elses_copy_of_the_marker_is_not_taken_for_our_own(stage: Stage) -> None:
    stage.do(Say(stage.card_id, "a", "hello"))
    copied = stage.bodies[0].replace("say:", "say:").replace(":a:", ":b:")
    stage.forge.store.issues.comment(stage.issue, copied, actor=stage.alice)
    stage.fault(method="POST", path="/comments$", status=502)
    stage.do(Say(stage.card_id, "b", "hello"))
    stage.clock.forward(6)
    stage.publish()
    assert len(stage.bodies) == 3


def test_a_deleted_run_comment_is_posted_again(stage: Stage) -> None:
    stage.do(WriteRunComment(stage.card_id, RUN))
    stage.forge.store.issues.delete_comment(stage.issue.comments[0], actor=stage.alice)
    stage.past.planned()
    stage.clock.forward(5)
    stage.do(WriteRunComment(stage.card_id, RUN))
    assert len(stage.bodies) == 1


def test_plan_and_question_are_settled_in_place(stage: Stage) -> None:
    stage.past.planned()
    stage.do(PostPlan(stage.card_id, RUN, 1))
    assert "box:approve" in stage.bodies[0]
    assert "@bob: " in stage.bodies[0]
    stage.happen(PlanApproved(RUN, 1, "alice"))
    stage.do(PostPlan(stage.card_id, RUN, 1))
    assert "approved by alice" in stage.bodies[0]
    assert "box:" not in stage.bodies[0]
    stage.happen(QuestionAsked(RUN, ASKED, "agent", "Half up?", ("yes", "no")))
    stage.do(PostQuestion(stage.card_id, RUN, ASKED))
    assert "@bob: " in stage.bodies[1]
    stage.happen(QuestionAnswered(RUN, ASKED, "alice", "yes"))
    stage.do(PostQuestion(stage.card_id, RUN, ASKED))
    assert "answered by alice" in stage.bodies[1]
    assert "@bob" not in "".join(stage.bodies)
    assert len(stage.bodies) == 2


def test_a_question_whose_comment_somebody_deleted_is_not_posted_again_with_its_answer(stage: Stage) -> None:
    stage.past.planned()
    stage.happen(QuestionAsked(RUN, ASKED, "agent", "Half up?", ("yes", "no")))
    stage.do(PostQuestion(stage.card_id, RUN, ASKED))
    stage.forge.store.issues.delete_comment(stage.issue.comments[0], actor=stage.alice)
    stage.happen(QuestionAnswered(RUN, ASKED, "alice", "yes"))
    assert stage.do(PostQuestion(stage.card_id, RUN, ASKED)).given_up == 0
    assert stage.bodies == []


def test_what_a_run_that_has_ended_asked_for_is_not_posted_any_more_only_edited(stage: Stage) -> None:
    ended = RunEnded(RUN, Ending.CANCELLED, "cancelled", "by alice", "planning")
    stage.past.step(R.PREPARING, R.PLANNING)
    stage.happen(PlanProposed(RUN, 1, "Round half up.", ("change it",)))
    stage.happen(QuestionAsked(RUN, ASKED, "agent", "Half up?", ("yes", "no")))
    stage.happen(ended)
    assert stage.do(PostPlan(stage.card_id, RUN, 1), PostQuestion(stage.card_id, RUN, ASKED)).given_up == 0
    assert stage.bodies == []


def test_the_boxes_of_a_run_that_has_ended_go_also_where_the_answer_to_the_post_was_lost(
    stage: Stage,
) -> None:
    stage.past.planned()
    stage.fault(method="POST", path="/comments$", status=502, after=True, cut=True)
    assert stage.do(PostPlan(stage.card_id, RUN, 1)).postponed == 1
    stage.happen(RunEnded(RUN, Ending.CANCELLED, "cancelled", "by alice", "awaiting_approval"))
    stage.clock.forward(6)
    assert stage.publish().settled == 1
    assert ["ended before anyone approved it" in body for body in stage.bodies] == [True]


def test_a_later_run_talks_on_the_pull_request_and_the_first_stays_on_the_issue(stage: Stage) -> None:
    stage.do(WriteRunComment(stage.card_id, RUN))
    stage.past.step(R.PREPARING, R.WORKING, R.PUBLISHING)
    stage.push()
    pull = stage.pull()
    stage.happen(
        BranchPushed(RUN, BRANCH, pull.head_sha),
        FinalReported(RUN, "Done.", (), (), ()),
        RunEnded(RUN, Ending.SUCCEEDED, "", "", "publishing"),
    )
    stage.clock.forward(5)
    stage.do(WriteRunComment(stage.card_id, RUN), PostReport(stage.card_id, RUN))
    assert len(stage.bodies) == 2
    assert f"Continued on pull request #{pull.issue.number}" in stage.bodies[0]
    stage.past.run(RunId("r2"), attempt=2, kind=RunKind.REVISION, card_id=stage.card_id)
    stage.do(WriteRunComment(stage.card_id, RunId("r2")), Say(stage.card_id, "x", "there", "pull"))
    assert len(stage.bodies) == 2
    assert [marker_of(comment.body) is not None for comment in pull.issue.comments] == [True, True]


def test_the_comment_of_a_failed_run_leads_to_its_report_also_where_that_came_later(
    stage: Stage,
) -> None:
    stage.happen(RunEnded(RUN, Ending.FAILED, "agent_error", "It broke.", "working"))
    stage.ask(PostReport(stage.card_id, RUN), WriteRunComment(stage.card_id, RUN))
    stage.fault(method="POST", path="/comments$", status=502)
    stage.publish()
    stage.clock.forward(60)
    stage.publish()
    stage.clock.forward(5)
    stage.publish()
    report = next(it for it in stage.issue.comments if "cardinal:report:" in it.body)
    assert f"[the report](#issuecomment-{report.id})" in next(
        body for body in stage.bodies if "cardinal:run:" in body
    )


def test_a_reaction_is_added_once_and_a_deleted_comment_needs_none(stage: Stage) -> None:
    comment = stage.forge.store.issues.comment(stage.issue, "/cardinal status", actor=stage.alice)
    stage.do(React(stage.card_id, "issue", comment.id, "eyes"), React(stage.card_id, "issue", 999, "eyes"))
    stage.do(React(stage.card_id, "issue", comment.id, "eyes"))
    assert [reaction.content for reaction in comment.reactions] == ["eyes"]
    assert stage.events(EntryGivenUp) == []


def test_what_rules_say_is_tamed_and_cut(stage: Stage) -> None:
    stage.do(Say(stage.card_id, "a", "@alice <script>" + "x" * 1_000_000))
    assert "@alice" not in stage.bodies[0]
    assert "<script>" not in stage.bodies[0]
    assert len(stage.bodies[0]) < 65_536


def test_a_deleted_issue_is_given_up_with_a_sentence(stage: Stage) -> None:
    stage.forge.store.issues.delete(stage.issue, actor=stage.alice)
    given_up_at_last = stage.do(Say(stage.card_id, "a", "hello"))
    for wait_s in (5, 25, 90):  # it could be one that GitHub does not show yet
        assert given_up_at_last.postponed == 1
        stage.clock.forward(wait_s)
        given_up_at_last = stage.publish()
    assert given_up_at_last.given_up == 1
    given_up = stage.events(EntryGivenUp)[0]
    assert isinstance(given_up, EntryGivenUp)
    assert "deleted" in given_up.because
