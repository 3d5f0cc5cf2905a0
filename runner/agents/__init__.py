"""Agents, one folder each with an `adapter.py`; found by folder name."""

from ledger.parts import Registry
from runner.agents.contract import AgentAdapter

AGENTS = Registry[AgentAdapter](
    "agent",
    __name__,
    AgentAdapter,
    entry="adapter",
    holds="AGENT",
    remedy="change `agent:` of the column in .github/cardinal.yml, then retry",
)
names, load = AGENTS.names, AGENTS.load
