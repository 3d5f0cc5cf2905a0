"""Let an agent do the work of the card, on a branch that becomes a pull request."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from ledger.model.run_modes import FIX
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.runs.start import start_as_told
from rules.snapshot import Snapshot

USAGE = "/cardinal fix [--repro] [text]"
ROLE = Role.WRITE
TAKES = "optional text"


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Queue a run that works on the card, where one may start; the text is for this run.

    With `--repro` in the first line, the card's steps are played in a browser, or it is said why not.
    """
    return start_as_told(policy, snapshot, given, FIX)
