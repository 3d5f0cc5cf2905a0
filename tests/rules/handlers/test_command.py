"""Commands of pages: what is obeyed, and the one comment that tells the card of it."""

from dataclasses import replace
from typing import Any

from ledger.events.board import StopOrdered
from ledger.events.conversation import CommandGiven, CommandRefused
from ledger.events.run import PlanApproved, PlanRedirected, QuestionAnswered, RunSteered
from ledger.ids import RunId
from ledger.states import RunState
from rules.intents.internal import QueueRun
from rules.intents.outbound import Say
from tests.rules.scene import CARD, POLICY, QUESTION, R1, asks, card, ended, given, kinds, only, run

S = RunState


def sent(name: str, argument: str = "", **changes: Any) -> CommandGiven:
    source = {"source": f"page:{name}", "place": "page", "comment_id": -9, "user_id": 4}
    return given(name.partition(":")[0], argument, **source, **changes)


def test_a_form_is_obeyed_and_reported_on_the_issue() -> None:
    intents = asks(card(run=run(S.PARKED), questions=(QUESTION,)), sent("answer:r1-q1", "2"))
    assert only(intents, QuestionAnswered).text == "8081"
    assert only(intents, Say) == Say(
        CARD, "command:-9", "`bob` gave `/cardinal answer` on Cardinal's page: “2”.", "issue", is_done=True
    )
    assert "React" not in kinds(intents)


def test_the_answer_to_a_form_is_in_its_report() -> None:
    (told,) = asks(card(run=ended()), sent("cancel:r1"))
    assert isinstance(told, Say)
    assert told.text.startswith("`bob` gave `/cardinal cancel` on Cardinal's page. No run is active")


def test_an_answer_that_is_a_list_or_a_table_begins_below_its_report() -> None:
    status, commands = (only(asks(card(run=run()), sent(name)), Say).text for name in ("status", "help"))
    assert status.startswith("`bob` gave `/cardinal status` on Cardinal's page.\n\n- ")
    assert "\n\n| command |" in commands


def test_a_form_about_an_older_run_question_or_plan_does_nothing_and_says_so() -> None:
    newer = card(run=run(run_id=RunId("r2")))
    assert "about r1, and r2 has started since" in only(asks(newer, sent("cancel:r1")), Say).text
    asked = asks(card(run=run(S.PARKED), questions=(QUESTION,)), sent("answer:r1-q7", "2"))
    assert "no longer open" in only(asked, Say).text
    planned = card(run=run(S.AWAITING_APPROVAL, plan_revision=2))
    assert "older plan" in only(asks(planned, sent("approve:r1:1")), Say).text
    assert kinds(asked) == ["Say"]
    assert only(asks(planned, sent("approve:r1:2")), PlanApproved).by == "bob"


def test_words_of_a_form_have_a_number_of_their_own() -> None:
    steered = only(asks(card(run=run()), sent("redirect:r1", "mind the tests")), RunSteered)
    assert steered == RunSteered(R1, "bob", "mind the tests", -9)
    back = asks(card(run=run(S.AWAITING_APPROVAL)), sent("redirect:r1", "smaller"))
    assert only(back, PlanRedirected).text == "smaller"


def test_a_run_knows_that_a_page_asked_for_it() -> None:
    assert only(asks(card(run=ended()), sent("retry:r1")), QueueRun).door == "page"


def test_the_board_is_stopped_by_a_form() -> None:
    assert only(asks(card(), sent("stop-all", role="admin")), StopOrdered).scope == "board"


def test_a_long_text_is_cut_in_the_report() -> None:
    (say,) = (ask for ask in asks(card(run=run()), sent("redirect:r1", "x" * 8000)) if isinstance(ask, Say))
    assert len(say.text) < 2200


def test_too_many_forms_are_told_and_do_nothing() -> None:
    (told,) = asks(card(run=ended(), paced=POLICY.limits.commands_per_minute + 1), sent("retry:r1"))
    assert isinstance(told, Say)
    assert (told.place, "commands within a minute" in told.text) == ("issue", True)
    assert told.text.endswith("only `/cardinal cancel`, `pause` and `stop-all` are obeyed.")


def test_a_refused_form_is_told_once_an_hour_on_the_issue() -> None:
    refused = CommandRefused(CARD, "page:retry:r1", "bob", "write", "No.", "page", -9, 4)
    assert asks(card(run=ended()), refused) == (Say(CARD, "page:retry:r1:bob:2026112112", "No.", "issue"),)
    (outsider,) = asks(card(run=ended()), replace(refused, role="read"))
    assert isinstance(outsider, Say)
    assert outsider.about.startswith("outsider:bob:")
