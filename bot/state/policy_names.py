"""Names of the parts that a policy can hold."""

from pathlib import Path

from ledger.events.run import OWN
from rules.policy.validate import Installed
from runner.errors import ProgramError
from runner.guards import builtin as guards


def list_installed(own_agents: Path) -> Installed:
    """Return the names of the runner's parts that a policy file can hold where the operator's agents are."""
    # Here: who reads a policy in force waits for no agent's module.
    from runner import agents

    names = agents.names(own_agents)
    thinkers = tuple(name for name in names if _may_have_efforts(name, own_agents))
    return Installed((*names, OWN), guards.names(), thinkers)


def _may_have_efforts(name: str, own_agents: Path) -> bool:
    from runner import agents

    try:
        return bool(agents.load(name, own_agents).efforts)
    except ProgramError:
        return True  # no policy is wrong for that: runs, `cardinal agents` and the doctor say what is


def list_for_any_host() -> Installed:
    """Return those that every host knows; agents are not checked, since an operator may have their own."""
    return Installed(guards=guards.names())
