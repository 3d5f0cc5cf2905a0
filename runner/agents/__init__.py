"""Agents, a file each in `adapters/`; found by file name."""

from ledger.parts import Registry
from runner.agents.contract import AgentAdapter

AGENTS = Registry[AgentAdapter](
    "agent",
    "runner.agents.adapters",
    AgentAdapter,
    holds="AGENT",
    remedy="change `agent:` of the column in .github/cardinal.yml, then retry",
)
names, load = AGENTS.names, AGENTS.load
