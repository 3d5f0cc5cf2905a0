"""Say that the card is done: move it to its last column, whose policy decides about the merge."""

from dataclasses import replace
from datetime import datetime

from ledger.events.conversation import CommandGiven
from rules.chatops.replies import say
from rules.commands import move
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot
from rules.text import alternatives, code

USAGE = "/cardinal complete"
ROLE = Role.WRITE
ALSO = ("move",)
INSTEAD = "To move it elsewhere: `/cardinal move <column>`."


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Move the card as a drag would, past no gate; of several last columns `/cardinal move` names one."""
    last = [name for name in policy.board.columns if policy.archetype(name).IS_FINAL]
    if len(last) != 1:
        ways = alternatives(code(f"/cardinal move {name}") for name in last)
        text = (
            f"Several columns complete cards: say {ways}."
            if last
            else "No column of this board completes cards."
        )
        return say(snapshot, given, text)
    return move.handle(policy, snapshot, replace(given, argument=last[0]), now)
