"""`/cardinal allow <pattern>`: what the card's agents may do unasked."""

import pytest

from ledger.events.agent import CardToolAllowed
from ledger.events.run import RunRequeued
from ledger.rows.limit_answers import Code
from ledger.states import RunState
from rules.chatops.parser import Parsed, permit
from rules.intents.outbound import Say
from tests.rules.commands.cases import handled, told
from tests.rules.scene import (
    CARD,
    POLICY,
    R1,
    a_question,
    answer_to,
    asks,
    card,
    given,
    kinds,
    only,
    run,
    said,
)


@pytest.mark.parametrize(
    ("text", "pattern"),
    [("git push:*", "git push:*"), ("`npm  run build`", "npm run build"), ("docker *", "docker *")],
)
def test_a_pattern_is_remembered_for_the_card(text: str, pattern: str) -> None:
    assert handled("allow", card(run=run()), text) == (CardToolAllowed(CARD, pattern, "bob"),)
    assert handled("allow", card(), text) == (CardToolAllowed(CARD, pattern, "bob"),)


@pytest.mark.parametrize("text", ["*", "**", "`*`", ":*", "* *", "?"])
def test_everything_is_no_pattern(text: str) -> None:
    assert "would allow everything" in told("allow", card(), text)


@pytest.mark.parametrize("text", ["x" * 201, "git\x00push", "git\u202epush"])
def test_what_nobody_could_read_is_no_pattern(text: str) -> None:
    assert "Nothing was allowed" in told("allow", card(), text)


def test_without_a_pattern_it_says_how() -> None:
    assert "`/cardinal allow git push:*`" in told("allow", card())


@pytest.mark.parametrize(("role", "may"), [("write", False), ("maintain", True)])
def test_it_takes_the_role_maintain(role: str, *, may: bool) -> None:
    answer = permit(POLICY, Parsed("allow", "git push:*"), role=role, login="bob")
    assert (type(answer).__name__ == "Permitted") is may


def test_a_maintainer_allows_changes_of_workflow_files_and_the_run_that_waits_goes_on() -> None:
    assert handled("allow", card(run=run()), "Workflows") == (CardToolAllowed(CARD, "workflows", "bob"),)
    question = a_question("r1-q1", "workflows", "Publish that too?", ("Publish these files too", "Stop"))
    waiting = card(run=run(RunState.PARKED), questions=(question,))
    answered = (
        answer_to(question, "Publish these files too", Code.PUBLISH),
        RunRequeued(R1, "answered"),
    )
    for_good = CardToolAllowed(CARD, "workflows", "bob")
    assert handled("allow", waiting, "workflows", role="maintain") == (for_good, *answered)
    assert handled("answer", waiting, "1", role="maintain") == answered  # to these files, and to no others
    assert "CardToolAllowed" not in kinds(asks(waiting, given("answer", "2", role="maintain")))
    for plain in (given("answer", "1", role="write"), said("1", role="write")):
        refused = asks(waiting, plain)
        assert "QuestionAnswered" not in kinds(refused)
        assert "needs the role `maintain`" in only(refused, Say).text
