"""Let an agent look into the card and report what it finds, without changing anything."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from rules.intents import Decision
from rules.modes import INVESTIGATE, commanded
from rules.policy import Policy
from rules.replies import say
from rules.roles import Role
from rules.snapshot import Snapshot
from rules.starting import obstacle, queue

USAGE = "/cardinal investigate [text]"
ROLE = Role.WRITE
TAKES = "optional text"


def obey(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Queue a run that only reads, where one may start; what is said with it is for this run."""
    because = obstacle(policy, snapshot)
    if because:
        return say(snapshot, given, f"No run was started: {because}.")
    return queue(policy, snapshot, by=given.by, mode=commanded(INVESTIGATE, given.by), asked=given.argument)
