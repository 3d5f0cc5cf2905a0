"""The pull request's description: the whole change, as the runs that made it tell it."""

from bot.render.markdown.marker import marker_of
from bot.render.run.criteria import UNSHOWN, Outcome
from ledger.events.branch import CommitsSigned
from ledger.events.conversation import AssistantReplied
from ledger.events.pull import PullChanged
from ledger.events.run import (
    BranchPushed,
    CommandChecked,
    CriterionTest,
    FinalReported,
    QuestionAsked,
    RunEnded,
    RunParked,
)
from ledger.ids import QuestionId, RunId
from ledger.states import Ending, PullState, RunKind, RunState
from rules.intents.outbound import OpenPull, UpdatePull
from tests.bot.outbox.conftest import Stage
from tests.bot.render.past import RUN


def test_the_description_follows_the_report_and_is_written_only_on_change(stage: Stage) -> None:
    pull = stage.pull()
    stage.happen(FinalReported(RUN, "Totals add up.", (), (), ()))
    stage.do(UpdatePull(stage.card_id))
    assert "> Totals add up." in (pull.issue.body or "")
    assert marker_of(pull.issue.body or "") is not None
    edits = len(stage.calls("PATCH"))
    stage.do(UpdatePull(stage.card_id))
    assert len(stage.calls("PATCH")) == edits


def test_what_the_opening_wrote_is_not_written_again(stage: Stage) -> None:
    stage.push()
    stage.do(OpenPull(stage.card_id, RUN))
    before = len(stage.calls())
    stage.do(UpdatePull(stage.card_id))
    assert stage.calls()[before:] == []
    stage.happen(FinalReported(RUN, "Totals add up.", (), (), ()))
    stage.do(UpdatePull(stage.card_id))
    assert len(stage.calls("PATCH")) == 1


def test_a_revision_is_added_to_what_the_description_says_of_the_whole_change(stage: Stage) -> None:
    pull = stage.pull()
    stage.happen(FinalReported(RUN, "Totals add up.", ("cart.py adds",), ("the sum",), ()))
    stage.happen(RunEnded(RUN, Ending.SUCCEEDED, "", "", "publishing"))
    stage.do(UpdatePull(stage.card_id))
    again = RunId("r2")
    stage.past.run(again, attempt=2, kind=RunKind.REVISION, card_id=stage.card_id)
    stage.past.step(RunState.PREPARING, RunState.WORKING, RunState.PUBLISHING, run_id=again)
    stage.do(UpdatePull(stage.card_id))
    assert "> Totals add up." in (pull.issue.body or "")
    stage.happen(FinalReported(again, "Nothing to look at.", (), (), ()))
    stage.do(UpdatePull(stage.card_id))
    assert "**What to check**\n\n- the sum\n" in (pull.issue.body or "")
    stage.happen(FinalReported(again, "Both remarks are worked in.", (), ("the rounding", "the sum"), ()))
    stage.do(UpdatePull(stage.card_id))
    body = pull.issue.body or ""
    assert "> Totals add up." in body
    assert "- cart.py adds" in body
    assert "**Revisions**\n\n- Run r2: Both remarks are worked in." in body
    assert "**What to check**\n\n- the sum\n- the rounding\n" in body


def test_what_a_run_reported_that_failed_or_only_looked_is_no_part_of_the_change(stage: Stage) -> None:
    pull, looked, fixed = stage.pull(), RunId("r2"), RunId("r3")
    stage.happen(FinalReported(RUN, "The sum is hard.", (), (), ()))
    stage.happen(RunEnded(RUN, Ending.FAILED, "stalled", "", "working"))
    for run_id, mode, done in (
        (looked, "investigate", "The sum is wrong."),
        (fixed, "fix", "Totals add up."),
    ):
        stage.past.run(run_id, attempt=2, card_id=stage.card_id, mode=mode)
        stage.past.step(RunState.PREPARING, RunState.WORKING, RunState.PUBLISHING, run_id=run_id)
        stage.happen(FinalReported(run_id, done, (), (), ()))
        stage.happen(RunEnded(run_id, Ending.SUCCEEDED, "", "", "publishing"))
    stage.do(UpdatePull(stage.card_id))
    body = pull.issue.body or ""
    assert "> Totals add up." in body
    assert "The sum is" not in body
    assert "Revisions" not in body


def test_the_criteria_of_a_planned_card_lead_to_the_tests_that_the_agent_named(stage: Stage) -> None:
    pull = stage.pull()
    brief = "Goal: totals.\n\n- [ ] Totals `add` up\n- [ ] Nothing | is @alice's\n- no criterion"
    stage.happen(FinalReported(RUN, "Done.", (), (), (), (CriterionTest("Totals add up", "test_sum"),)))
    stage.do(UpdatePull(stage.card_id))
    assert "Criteri" not in (pull.issue.body or "")  # nobody planned it
    stage.happen(AssistantReplied(stage.card_id, "It is ready.", brief, 0))
    stage.do(UpdatePull(stage.card_id))
    assert f"| Totals `add` up | `test_sum` ⚠️ {Outcome.UNKNOWN} |" in (pull.issue.body or "")
    said = "tests/test_cart.py::Cart::test_sum PASSED [100%]"
    stage.happen(CommandChecked(RUN, 1, "full", "pytest -v", 0, 2.0, "d" * 64, said))
    stage.happen(RunEnded(RUN, Ending.SUCCEEDED, "", "", "publishing"))
    stage.do(UpdatePull(stage.card_id))
    body = pull.issue.body or ""
    assert "| Criterion | Shown by |\n| --- | --- |\n| Totals `add` up | `test_sum` ✅ passed |\n" in body
    assert f"| Nothing \\| is @\u200balice's | ⚠️ {UNSHOWN} |" in body
    assert "no criterion" not in body


def test_what_people_wrote_around_cardinals_part_of_the_description_stays(stage: Stage) -> None:
    stage.push()
    stage.do(OpenPull(stage.card_id, RUN))
    (pull,) = stage.forge.store.pulls.all(stage.shop)
    issues, written = stage.forge.store.issues, pull.issue.body or ""
    around = f"Please read slowly.\r\n\r\n{written}\r\n\r\nThanks, ann"
    issues.edit(pull.issue, body=around, actor=stage.alice)
    stage.happen(FinalReported(RUN, "Totals add up.", (), (), ()))
    stage.do(UpdatePull(stage.card_id))
    body = pull.issue.body or ""
    assert body.startswith("Please read slowly.\n\n<!-- ")
    assert body.endswith("-->\n\nThanks, ann")
    assert (body.count("Closes #"), body.count("> Totals add up.")) == (1, 1)
    issues.edit(pull.issue, body="All mine.", actor=stage.alice)
    stage.happen(FinalReported(RUN, "Totals add up now.", (), (), ()))
    stage.do(UpdatePull(stage.card_id))
    assert pull.issue.body == "All mine."


def test_work_that_is_published_early_says_what_becomes_of_it_and_claims_no_check_of_an_older_commit(
    stage: Stage,
) -> None:
    pull, branch, question_id = stage.pull(), "cardinal/12", QuestionId("r1-q1")
    stage.happen(CommandChecked(RUN, 1, "full", "pytest -q", 0, 2.0, "d" * 64, "", "b" * 40, "a" * 40))

    def said() -> str:
        stage.do(UpdatePull(stage.card_id))
        return pull.issue.body or ""

    stage.happen(BranchPushed(RUN, branch, "c" * 40, "a" * 40))
    assert "**Not finished.** 🔨 Run r1 is working on it" in said()
    assert "pytest" not in said()
    stage.happen(QuestionAsked(RUN, question_id, "agent", "Which?", ()), RunParked(RUN, "question"))
    assert "**Not finished.** 🙋 Run r1 is waiting for you: answer its question" in said()
    stage.happen(RunEnded(RUN, Ending.FAILED, "stalled", "", "working"))
    assert "Run r1 failed: the agent stopped responding. Its published work stays here as a draft" in said()
    assert "report follows" not in said()
    again = RunId("r2")
    stage.past.run(again, attempt=2, kind=RunKind.RETRY, card_id=stage.card_id)
    stage.past.step(RunState.PREPARING, RunState.WORKING, RunState.PUBLISHING, run_id=again)
    stage.happen(BranchPushed(again, branch, "c" * 40))
    stage.happen(RunEnded(again, Ending.SUCCEEDED, "", "", "publishing"))
    assert "Not finished" not in said()


def test_each_tick_of_the_description_names_the_checked_commit_as_github_has_it(
    stage: Stage,
) -> None:
    pull = stage.pull()
    judged, signed = "a" * 40, "e" * 40
    for head, iteration in (("9" * 40, 1), (judged, 2)):
        stage.happen(
            CommandChecked(RUN, iteration, "full", f"check {head[0]}", 0, 2.0, "d" * 64, "", head, "b" * 40)
        )
    stage.happen(CommitsSigned(RUN, judged, signed, "f" * 40), BranchPushed(RUN, "cardinal/12", signed))
    stage.happen(RunEnded(RUN, Ending.SUCCEEDED, "", "", "publishing"))
    stage.happen(
        PullChanged(stage.card_id, pull.issue.number, PullState.OPEN, True, "c" * 40)
    )  # a person pushed
    stage.do(UpdatePull(stage.card_id))
    body = pull.issue.body or ""
    assert "| full | `check a` | ✅ passed on eeeeeee |" in body
    assert "| full | `check 9` | ✅ passed on 9999999 |" in body
