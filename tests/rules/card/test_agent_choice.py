"""Who plays a card's next run: by command, else by a label, and only of those that the column lists."""

import pytest

from ledger.events.board import LabelJudged
from ledger.events.conversation import PersonSaid
from rules.card.agent_choice import played
from rules.intents.outbound import Say
from rules.policy.model import parse
from tests.rules.scene import CARD, asks, card, given, only, said

BY_NAME = parse(
    """\
version: 1
board:
  specialists: {prober: {agent: codex}, scribe: {agent: opencode}}
  columns:
    Work: {archetype: execution, agents: ["@prober", claude/opus, "@scribe"]}
    Other: {archetype: execution}
""",
    home="acme/board",
)


@pytest.mark.parametrize(
    ("pinned", "labels", "agent"),
    [
        ("", (), "claude"),
        ("", ("bug", "agent:scribe"), "opencode"),
        ("", ("Agent:@Prober",), "codex"),
        ("", ("agent:scribe", "agent:prober"), "codex"),  # the first that the column lists
        ("@scribe", ("agent:prober",), "opencode"),
        ("@gone", ("agent:prober",), "codex"),
        ("", ("agent:nobody", "prober", "@prober"), "claude"),
    ],
)
def test_a_command_goes_before_a_label_and_a_label_before_the_column(
    pinned: str, labels: tuple[str, ...], agent: str
) -> None:
    column = BY_NAME.column("Work")
    assert column is not None
    assert played(BY_NAME, column, pinned, labels).agent == agent


def test_a_label_that_names_nobody_is_answered_with_those_that_would() -> None:
    intents = asks(card("Work", labels=("agent:nobody", "bug")), given("retry"), by=BY_NAME)
    answer = only(intents, Say)
    assert answer.about == "agent-label:agent:nobody"
    assert answer.text == (
        "The label `agent:nobody` chooses nobody in `Work`: there `agent:prober`, `agent:claude/opus`"
        " or `agent:scribe` would."
    )
    for column, label in (("Other", "agent:nobody"), ("Work", "agent:scribe")):
        quiet = asks(card(column, labels=(label,)), given("retry"), by=BY_NAME)
        assert not [intent for intent in quiet if isinstance(intent, Say)]


def test_a_label_by_somebody_who_may_not_move_cards_chooses_nobody_and_that_is_said() -> None:
    judged = LabelJudged(CARD, "agent:prober", "mallory", "read", counts=False)
    assert "it chooses nothing" in only(asks(card("Work"), judged, by=BY_NAME), Say).text


@pytest.mark.parametrize("text", ["@prober please look at this", "Ask @scribe.", "agent:prober"])
def test_a_mention_in_prose_does_nothing(text: str) -> None:
    event: PersonSaid = said(text)
    assert asks(card("Work"), event, by=BY_NAME) == asks(card("Work"), said("Please look."), by=BY_NAME)
