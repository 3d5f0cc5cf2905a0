"""`/cardinal comment <text>`: words on a card from beside GitHub count as a comment there."""

from dataclasses import replace

import pytest

from ledger.events.run import RunRequeued, RunSteered
from ledger.states import RunState
from rules.intents.outbound import Say
from rules.snapshot import Snapshot
from tests.rules.commands.cases import handled, told
from tests.rules.scene import QUESTION, R1, answer_to, card, ended, given, only, run
from tests.rules.scene import asks as decided

API = {"place": "api", "source": "api:comment", "comment_id": -7, "via": "ci"}


def test_it_answers_an_open_question() -> None:
    parked = card(run=run(RunState.PARKED), questions=(QUESTION,))
    assert handled("comment", parked, "8080") == (answer_to(QUESTION, "8080"), RunRequeued(R1, "answered"))


def test_an_agent_at_work_reads_it_and_the_card_shows_what_a_program_said() -> None:
    intents = decided(card(run=run()), given("comment", "mind\nthe gap", **API))
    assert only(intents, RunSteered) == RunSteered(R1, "bob", "mind\nthe gap", -7)
    assert (
        "`bob` gave `/cardinal comment` by a program (token `ci`): “mind the gap”" in only(intents, Say).text
    )


@pytest.mark.parametrize("snapshot", [card(), card(run=ended())], ids=["no run", "an ended one"])
def test_where_nobody_listens_it_stays_on_the_card(snapshot: Snapshot) -> None:
    assert handled("comment", snapshot, "for the record") == ()
    assert "“for the record”" in only(decided(snapshot, given("comment", "for the record", **API)), Say).text


def test_the_planning_assistant_reads_the_issue() -> None:
    assert "write yours on the issue" in told("comment", replace(card(), column="Planning"), "and shipping?")
