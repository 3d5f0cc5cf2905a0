"""Names of the parts that a policy can hold."""

from ledger.events.run import OWN
from rules.policy.validate import Installed
from runner import agents
from runner.guards import builtin as guards


def list_installed() -> Installed:
    """Return the names of the runner's parts that a policy file can hold."""
    thinkers = tuple(name for name in agents.names() if agents.load(name).efforts)
    return Installed((*agents.names(), OWN), guards.names(), thinkers)
