"""`/cardinal ok`: one comment by someone without write access counts as if a trusted person had said it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from ledger.events.conversation import CommentReleased
from ledger.events.run import QuestionAnswered, RunRequeued, RunSteered
from ledger.states import RunState
from rules.chatops.parser import Parsed, RefusedCommand, permit
from rules.intents.outbound import AskAssistant
from rules.snapshot import Snapshot
from tests.rules.commands.cases import handled, told
from tests.rules.scene import CARD, NOW, POLICY, QUESTION, R1, a_message, answer_to, card, run

EVE, MALLORY = a_message(70, "issue", "eve", "Use 8080."), a_message(71, "issue", "mallory", "Delete it.")
REVIEW = a_message(12, "review", "eve", "Wrong line.")
ALONE = card(run=run(), held=(EVE,))
BOTH = card(run=run(), held=(EVE, MALLORY))
STEERED = RunSteered(R1, "bob", "eve wrote, and bob lets it through:\nUse 8080.", 70)


def test_the_only_comment_that_waits_reaches_the_agent_with_both_names() -> None:
    assert handled("ok", ALONE) == (CommentReleased(CARD, 70, "issue", "bob"), STEERED)


@pytest.mark.parametrize(
    "argument",
    [
        "eve", "@Eve", "`eve`", "70", "#issuecomment-70",
        "https://github.com/acme/shop/issues/12#issuecomment-70",
    ],
)  # fmt: skip
def test_one_of_several_is_named_by_its_author_or_its_link(argument: str) -> None:
    assert handled("ok", BOTH, argument) == (CommentReleased(CARD, 70, "issue", "bob"), STEERED)


def test_of_several_none_is_guessed() -> None:
    said = told("ok", BOTH)
    assert "2 comments wait" in said
    assert "`/cardinal ok #issuecomment-70` (`eve`)" in said
    assert "`/cardinal ok #issuecomment-71` (`mallory`)" in said


def test_a_comment_that_was_slipped_in_after_the_command_is_not_meant() -> None:
    later = card(run=run(), held=(EVE, replace(MALLORY, comment_id=78)))
    assert handled("ok", later)[0] == CommentReleased(CARD, 70, "issue", "bob")
    assert "No comment" in told("ok", later, "78")


def test_the_commands_of_others_do_not_wait_for_a_word() -> None:
    message = replace(EVE, comment_id=72, text="/cardinal status")
    assert handled("ok", card(run=run(), held=(EVE, message))) == handled("ok", ALONE)
    assert "No comment" in told("ok", card(run=run(), held=(message,)))


def test_an_edited_comment_is_not_let_through() -> None:
    assert "edited that comment" in told("ok", card(run=run(), held=(replace(EVE, changed="edited"),)))


@pytest.mark.parametrize("argument", ["", "carol", "99", "#discussion_r70"])
def test_where_nothing_fitting_waits_it_says_so(argument: str) -> None:
    assert "No comment" in told("ok", ALONE if argument else card(run=run()), argument)


def test_a_remark_on_a_line_is_named_by_its_own_link() -> None:
    both = card(run=run(), held=(EVE, REVIEW))
    assert handled("ok", both, "#discussion_r12")[0] == CommentReleased(CARD, 12, "review", "bob")


def test_the_words_of_a_review_are_named_by_its_link_and_reach_the_agent() -> None:
    words = replace(REVIEW, place="commented")
    both = card(run=run(), held=(EVE, words, REVIEW))
    release = CommentReleased(CARD, 12, "commented", "bob")
    assert handled("ok", both, "#pullrequestreview-12") == (
        release,
        RunSteered(R1, "bob", "eve wrote, and bob lets it through:\nWrong line.", 12),
    )
    assert "`/cardinal ok #pullrequestreview-12`" in told("ok", both)
    assert handled("ok", card("Planning", held=(words,))) == (release,), "the assistant counts comments"
    taken_back = card(run=run(), held=(replace(words, changed="dismissed"),))
    assert handled("ok", taken_back)[0] == release


def test_a_review_that_came_after_the_command_is_not_meant() -> None:
    late = card(run=run(), held=(replace(REVIEW, place="commented", at=NOW),))
    assert "No comment" in told("ok", late, said_at=NOW - timedelta(seconds=6))
    assert handled("ok", late, said_at=NOW)[0] == CommentReleased(CARD, 12, "commented", "bob")


def test_it_answers_the_question_of_the_run_in_the_name_of_who_said_ok() -> None:
    asking: Snapshot = card(
        run=run(RunState.PARKED), questions=(QUESTION,), held=(replace(EVE, text="8081"),)
    )
    assert handled("ok", asking) == (
        CommentReleased(CARD, 70, "issue", "bob"),
        answer_to(QUESTION, "8081"),
        RunRequeued(R1, "answered"),
    )


def test_words_from_before_a_question_are_no_answer_to_it() -> None:
    question = replace(QUESTION, asker="budget", choices=("Go on", "Stop"), asked_at=NOW, subject="budget")
    question = replace(question, codes=("go_on", "stop"))
    yes = replace(EVE, text="yes", at=NOW - timedelta(hours=1))
    waiting = card(run=run(RunState.PARKED), questions=(question,), held=(yes,))
    assert handled("ok", waiting, said_at=NOW)[1:] == (
        RunSteered(R1, "bob", "eve wrote, and bob lets it through:\nyes", 70),
    )
    snapshot = card(run=run(RunState.PARKED), questions=(question,), held=(replace(yes, at=NOW),))
    assert isinstance(handled("ok", snapshot, said_at=NOW)[1], QuestionAnswered)


def test_in_planning_the_assistant_hears_it_and_without_a_listener_the_next_briefing_has_it() -> None:
    release = CommentReleased(CARD, 70, "issue", "bob")
    assert handled("ok", card("Planning", held=(EVE,))) == (release, AskAssistant(CARD, 70))
    assert handled("ok", card("Review", held=(EVE,))) == (release,)


def test_nobody_without_write_access_lets_anybody_through() -> None:
    refused = permit(POLICY, Parsed("ok", ""), role="triage", login="eve")
    assert isinstance(refused, RefusedCommand)
