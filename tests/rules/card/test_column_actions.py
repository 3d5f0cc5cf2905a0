"""The column's header says what a drag brings about."""

import pytest

from rules.card.column_actions import consequence
from tests.rules.scene import POLICY, policy


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("Tasks", "Ideas wait here. Nothing runs."),
        ("Planning", 'The planning assistant asks until the card says what "done" means.'),
        (
            "In Progress",
            "An agent will be assigned and start work: plan first, up to $2.00 and 30 min, no network.",
        ),
        ("Review", "People review here."),
        ("QA", "People review here. Entering marks its pull request ready."),
        ("Done", "Entering merges the approved pull request (squash) and deletes the branch."),
    ],
)
def test_the_default_board_says_its_consequences(column: str, said: str) -> None:
    assert consequence(POLICY.board.columns[column]) == said


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (
            "archetype: execution, plan_approval: off, tools: {network: full}",
            "start work: up to $2.00 and 30 min, open",
        ),
        ("archetype: execution, tools: {network: [a.org, b.org]}", "network to 2 hosts."),
        ("archetype: execution, publish: early", "no network, seen early as a draft pull request."),
        ("archetype: execution, mode: investigate", "look into it and report what it finds"),
        ("archetype: execution, on_entry: []", "An agent starts work on /cardinal retry: up to $2.00"),
        ("archetype: execution, agent: own", "The card waits for a worker of your own: up to 30 min."),
        ("archetype: terminal", "Finished cards stay here."),
        (
            "archetype: inbox, on_entry: [{action: ai_task, prompt: Tag it}]",
            "Entering asks a model about the card.",
        ),
    ],
)
def test_other_rules_have_other_consequences(rules: str, said: str) -> None:
    column = policy(f"X: {{{rules}}}").column("X")
    assert column is not None
    assert said in consequence(column)


def test_a_header_is_never_longer_than_200_characters() -> None:
    tasks = ", ".join("{action: ai_task, prompt: x}" for _ in range(20))
    column = policy(f"X: {{archetype: planning, on_entry: [{tasks}]}}").column("X")
    assert column is not None
    assert 190 < len(consequence(column)) <= 200
