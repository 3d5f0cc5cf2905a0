"""Start another run on the card, or a revision when a review asked for something."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from ledger.states import Archetype
from rules.acting import act
from rules.command_line import door_of
from rules.intents import Decision
from rules.modes import again
from rules.occasion import Occasion
from rules.policy import Policy
from rules.replies import say
from rules.roles import Role
from rules.snapshot import Snapshot
from rules.starting import obstacle, queue

USAGE = "/cardinal retry"
ROLE = Role.WRITE
TAKES = "none"
INSTEAD = "What the agent should know: write a plain comment first."


def obey(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Queue a run where one may start; in a terminal column, try again to merge what could not be merged."""
    column = policy.column(snapshot.column)
    if column and column.archetype is Archetype.TERMINAL and snapshot.open_pull and not snapshot.live_run:
        return act(policy, snapshot, column.entry_actions, Occasion("retry", given.by, now))
    because = obstacle(policy, snapshot)
    if because:
        return say(snapshot, given, f"No run was started: {because}.")
    return queue(policy, snapshot, by=given.by, door=door_of(given.source), mode=again(policy, snapshot))
