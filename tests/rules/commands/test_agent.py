"""`/cardinal agent <agent>[/<model>]`: who works in the card's next runs, of those that the policy lists."""

import pytest

from ledger.events.instruction import AgentPinned
from rules.chatops.offers import fitting
from rules.intents.outbound import Say
from rules.policy.model import Policy, parse
from tests.rules.commands.cases import handled, told
from tests.rules.scene import CARD, asks, card, given, only, policy, run, under

AGENTS = policy("Work: {archetype: execution, agents: [codex, claude/opus]}\nOther: {archetype: execution}")


@pytest.mark.parametrize(
    ("text", "choice"), [("codex", "codex"), ("`claude/opus`", "claude/opus"), ("None", "")]
)
@pytest.mark.parametrize("live", [None, run()])
def test_the_choice_is_remembered_for_the_card(text: str, choice: str, live: object) -> None:
    _, *rest = asks(card("Work", run=live), given("agent", text), by=AGENTS)
    assert rest == [AgentPinned(CARD, choice, "bob")]


@pytest.mark.parametrize("text", ["prober", "@prober"])
def test_a_specialist_is_chosen_with_and_without_its_mark(text: str) -> None:
    by = parse(
        "version: 1\nboard:\n  specialists: {prober: {}}\n"
        '  columns: {Work: {archetype: execution, agents: ["@prober"]}}\n',
        home="acme/board",
    )
    _, *rest = asks(card("Work"), given("agent", text), by=by)
    assert rest == [AgentPinned(CARD, "@prober", "bob")]
    assert _answer(by, "@nobody").endswith("Say `/cardinal agent prober` or `/cardinal agent none`.")


@pytest.mark.parametrize("text", ["codex/other", "claude", "<b>", "codex claude/opus"])
def test_what_the_policy_does_not_list_is_refused_with_what_it_lists(text: str) -> None:
    answer = _answer(AGENTS, text)
    assert answer.startswith("Nothing was chosen: ")
    assert answer.endswith(
        "Say `/cardinal agent codex`, `/cardinal agent claude/opus` or `/cardinal agent none`."
    )


def test_without_a_name_it_says_which_there_are() -> None:
    assert _answer(AGENTS, "").startswith("Say `/cardinal agent codex`, ")


def test_where_no_column_lists_any_it_says_how() -> None:
    assert "list some in its `agents`" in told("agent", card(), "codex")
    assert handled("agent", card(), "none") == (AgentPinned(CARD, "", "bob"),)


def _answer(by: Policy, text: str) -> str:
    return only(asks(card("Work"), given("agent", text), by=by), Say).text


def test_the_agents_of_the_cards_column_are_offered_and_where_there_are_none_nothing_is() -> None:
    (offer,) = [it for it in fitting(AGENTS, under(AGENTS, card("Work"))) if it.command == "agent"]
    assert [name for name, _ in offer.choices] == ["codex", "claude/opus", "none"]
    assert "agent" not in [it.command for it in fitting(AGENTS, under(AGENTS, card("Other")))]
