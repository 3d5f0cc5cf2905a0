"""Names of the parts that a policy can hold."""

from pathlib import Path

from ledger.events.run import OWN
from rules.policy.validate import Installed
from runner.guards import builtin as guards


def list_installed(own_agents: Path) -> Installed:
    """Return the names of the runner's parts that a policy file can hold where the operator's agents are."""
    from runner import agents  # who reads a policy in force waits for no agent's module

    names = agents.names(own_agents)
    thinkers = tuple(name for name in names if agents.load(name, own_agents).efforts)
    return Installed((*names, OWN), guards.names(), thinkers)


def list_for_any_host() -> Installed:
    """Return those that every host knows; agents are not checked, since an operator may have their own."""
    return Installed(guards=guards.names())
