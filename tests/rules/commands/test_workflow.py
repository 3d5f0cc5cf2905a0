"""`/cardinal workflow <name>`: which of the policy's workflows the card's next runs have."""

import pytest

from ledger.events.instruction import WorkflowPinned
from rules.intents.outbound import Say
from rules.policy.model import parse
from tests.rules.commands.cases import handled, told
from tests.rules.scene import CARD, asks, card, given, only

FLOWS = parse(
    "version: 1\nboard:\n"
    "  workflows:\n"
    "    docs-flow: {stages: [{name: write, persona: docs-writer}]}\n"
    "    full: {stages: [{name: build, persona: senior-engineer}]}\n"
    "  columns: {Work: {archetype: execution}, Ideas: {archetype: inbox}}\n",
    home="acme/board",
)


@pytest.mark.parametrize(("text", "name"), [("docs-flow", "docs-flow"), ("`Full`", "full"), ("none", "")])
@pytest.mark.parametrize("column", ["Work", "Ideas"])
def test_the_choice_is_remembered_for_the_card(text: str, name: str, column: str) -> None:
    _, *rest = asks(card(column), given("workflow", text), by=FLOWS)
    assert rest == [WorkflowPinned(CARD, name, "bob")]


def test_an_unknown_name_is_refused_with_the_ones_there_are() -> None:
    said = only(asks(card("Work"), given("workflow", "doc-flow"), by=FLOWS), Say).text
    assert "did you mean docs-flow?" in said
    ways = "Say `/cardinal workflow docs-flow`, `/cardinal workflow full` or `/cardinal workflow none`."
    assert said.endswith(ways)
    assert only(asks(card("Work"), given("workflow", ""), by=FLOWS), Say).text == ways


def test_a_policy_without_workflows_says_where_to_define_them() -> None:
    assert "under `board: workflows`" in told("workflow", card(), "docs-flow")
    assert handled("workflow", card(), "none") == (WorkflowPinned(CARD, "", "bob"),)
