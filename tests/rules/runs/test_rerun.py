"""What counts as it is today in a run that does an earlier one again."""

from rules.policy.column import ColumnPolicy
from rules.runs.rerun import limit_to_today

FREE = {"network": ["a.example", "b.example"], "ask": ["git push:*"]}
SECRET = {"host": "a.example", "name": "A_TOKEN", "header": "X-Key"}


def column(**settings: object) -> ColumnPolicy:
    return ColumnPolicy.model_validate({"archetype": "execution", **settings})


def then(**tools: object) -> ColumnPolicy:
    return column(budget_usd=9, secrets=[SECRET], tools={**FREE, **tools})


def test_the_agent_may_do_no_more_than_then_and_today() -> None:
    today = column(budget_usd=1, tools={"network": ["b.example", "c.example"], "run": "ask", "ask": ["rm:*"]})
    limited = limit_to_today(then(edit="deny"), today)
    tools = limited.tools
    assert (limited.budget_usd, limited.secrets, tools.network) == (1, (), ("b.example",))
    assert (tools.edit, tools.run, tools.commit, tools.ask) == (
        "deny",
        "ask",
        "allow",
        ("git push:*", "rm:*"),
    )
    same = then()
    assert limit_to_today(same, same) == same


def test_of_a_column_that_is_gone_no_secret_and_no_host_is_given() -> None:
    limited = limit_to_today(then(), None)
    assert (limited.secrets, limited.tools.network, limited.budget_usd) == ((), (), 9)
