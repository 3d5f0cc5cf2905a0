"""Names of the policy file, of the folder of profiles, and of the parts that a policy can hold."""

from rules.policy.validate import Installed
from runner import agents
from runner.guards import builtin as guards

PATH = ".github/cardinal.yml"
PROFILES_FOLDER = ".github/cardinal/profiles"


def installed() -> Installed:
    """Return the names of the runner's parts that a policy file can hold."""
    return Installed(agents.names(), guards.names())
