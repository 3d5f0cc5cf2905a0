"""Choose the card's priority, before the board's field and labels; `none` takes that back."""

from dataclasses import replace
from datetime import datetime

from ledger.events.conversation import CommandGiven
from ledger.events.preference import PriorityChosen
from ledger.states import Priority
from rules.card.preferences import choose_priority, priority_named
from rules.chatops.replies import say
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot
from rules.text import alternatives, code

USAGE = "/cardinal priority urgent|high|normal|low|none"
ROLE = Role.WRITE
TAKES = "optional"


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Record the priority; where the policy orders queues by it, the card's run gets its place at once."""
    wanted = given.argument.strip().strip("`")
    if wanted.lower() == "none":
        cleared = PriorityChosen(snapshot.card_id, None, given.by)
        left = choose_priority(policy, replace(snapshot, priority=None, priority_by=""))
        return Decision((cleared,), (f"{given.by} chose no priority: it is {left.priority}, {left.why}",))
    named = priority_named(wanted)
    if named is None:
        wrong = f"{code(wanted, 40)} is not a priority. " if wanted else ""
        which = alternatives(f"`/cardinal priority {word}`" for word in (*Priority, "none"))
        return say(snapshot, given, f"{wrong}Say {which}.")
    chosen = PriorityChosen(snapshot.card_id, named, given.by)
    return Decision((chosen,), (f"{given.by} chose priority {named}",))
