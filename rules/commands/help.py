"""List the commands and who may give them."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from ledger.parts import charter
from rules.chatops.parser import group_by_permission
from rules.chatops.replies import say
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.registry import COMMANDS
from rules.snapshot import Snapshot
from rules.text import alternatives, code

USAGE = "/cardinal help"
ROLE = Role.READ
TAKES = "optional"
IS_SAFE = True


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Post the table of all commands."""
    return say(snapshot, given, command_table(policy))


def command_table(policy: Policy) -> str:
    """Return a Markdown table of the commands, their effects and who may give them."""
    rows = ["| command | effect | who |", "| --- | --- | --- |"]
    for name, command in COMMANDS.all():
        every = group_by_permission(policy, name)
        who = " and ".join(alternatives(code(word) for word in group) for group in every)
        usage = command.USAGE.replace("|", "\\|")
        rows.append(f"| `{usage}` | {charter(command)} | {who} |")
    return "\n".join((*rows, "", "Write a command in the first line of a comment."))
