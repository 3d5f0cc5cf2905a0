"""Let an agent do the work of the card, on a branch that becomes a pull request."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from rules.intents import Decision
from rules.modes import FIX
from rules.policy import Policy
from rules.roles import Role
from rules.snapshot import Snapshot
from rules.starting import start_as_told

USAGE = "/cardinal fix [--repro] [text]"
ROLE = Role.WRITE
TAKES = "optional text"


def obey(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Queue a run that works on the card, where one may start; what is said with it is for this run.

    With `--repro` in the first line, the card's steps are played in a browser, or it is said why not.
    """
    return start_as_told(policy, snapshot, given, FIX)
