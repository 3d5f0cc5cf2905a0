"""Who plays a card's next run: by command, else by a label, and only of those that the column lists."""

import pytest

from ledger.events.board import LabelJudged
from ledger.events.conversation import PersonSaid
from ledger.events.related import CardProposed
from rules.card.agent_choice import agent_names, apply_choice
from rules.intents.outbound import CreateCard, Say
from rules.policy.model import parse
from tests.rules.scene import CARD, R1, asks, card, given, only, run, said

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
    assert apply_choice(BY_NAME, column, pinned, labels).agent == agent


def test_a_label_that_names_nobody_is_answered_with_those_that_would() -> None:
    intents = asks(card("Work", labels=("agent:nobody", "bug")), given("retry"), by=BY_NAME)
    answer = only(intents, Say)
    assert answer.about == "agent-label:agent:nobody"
    assert answer.text == (
        "The label `agent:nobody` chooses no agent in `Work`: `agent:prober`, `agent:claude/opus`"
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


def test_a_new_card_can_be_given_to_all_that_any_column_lists_and_a_label_can_name() -> None:
    long = f"claude/{'x' * 60}"
    column = BY_NAME.board.columns["Other"].model_copy(update={"agents": ("codex", "@prober", long)})
    board = BY_NAME.board.model_copy(update={"columns": {**BY_NAME.board.columns, "Other": column}})
    assert agent_names(board) == ("prober", "claude/opus", "scribe", "codex")
    event = CardProposed(R1, 1, "Test it", "Nobody does", "why", agent="prober")
    assert only(asks(card("Work", run=run()), event, by=BY_NAME), CreateCard).agent == "prober"
