"""Another policy is compared column by column, with the cards that stand there."""

from rules.card.column_actions import find_changed_columns
from rules.policy.model import Policy, parse

NOW = "{Tasks: {archetype: inbox}, Work: {archetype: execution, budget_usd: 2}, Done: {archetype: terminal}}"


def policy(columns: str) -> Policy:
    return parse(f"version: 1\nboard: {{columns: {columns}}}\n", home=None, installed=None)


def test_only_columns_whose_rules_differ_are_named() -> None:
    other = NOW.replace("budget_usd: 2", "budget_usd: 3").replace("Done:", "Shipped:")
    changes = find_changed_columns(policy(NOW), policy(other), {"Work": 4, "Done": 2, None: 1})
    assert [(change.column, change.cards, bool(change.before), bool(change.after)) for change in changes] == [
        ("Work", 4, True, True),
        ("Shipped", 0, False, True),
        ("Done", 2, True, False),
    ]
    assert "$2.00" in changes[0].before
    assert "$3.00" in changes[0].after
    assert find_changed_columns(policy(NOW), policy(NOW), {}) == ()
