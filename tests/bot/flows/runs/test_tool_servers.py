"""The tool servers of a repository's policy reach its runs, as its board's column leaves them."""

from bot.runspec.policy_fields import from_policy
from bot.system.config import Config
from ledger.model.policy_settings import HostSecret
from rules.policy.model import parse
from runner.run.run_spec import ToolServerSpec

TEXT = """
version: 1
board:
  columns:
    Work:
      archetype: execution
      tools: {mcp: [docs__read], network: [a.example]}
      secrets: [{name: KEY, host: a.example}]
repository:
  mcp: {docs: {command: [docs], tools: [find, read], network: [a.example], repository: read, secrets: [KEY]}}
"""


def test_a_column_chooses_among_the_tools_of_a_repository(config: Config) -> None:
    policy = parse(TEXT, home="acme/board")
    column = policy.column("Work")
    assert column is not None
    fields = from_policy(config, column, policy.repository)
    assert fields["servers"] == (ToolServerSpec("docs", ("docs",), "", ("a.example",), True, ("KEY",)),)
    assert fields["tools"].mcp == ("docs__read",)
    assert fields["secrets"] == (
        HostSecret(name="KEY", host="a.example", header="Authorization", format="Bearer {}"),
    )
