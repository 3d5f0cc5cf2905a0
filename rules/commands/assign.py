"""Assign the card's issue to people at GitHub; `me` means yourself."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from rules.chatops.replies import about, say
from rules.intents.by_command import ChangeAssignees
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import LOGIN, Role
from rules.snapshot import Snapshot
from rules.text import code

USAGE = "/cardinal assign <people>|me"
ROLE = Role.TRIAGE  # as at GitHub
TAKES = "optional"
MAX_PEOPLE = 10  # of an issue. Source: docs.github.com/rest/issues/assignees#add-assignees-to-an-issue


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Add them to the issue's assignees; that starts and stops nothing."""
    return change(snapshot, given, wanted=True)


def change(snapshot: Snapshot, given: CommandGiven, *, wanted: bool) -> Decision:
    """Assign the people whom the command names, or unassign them."""
    words = [word.removeprefix("@") for word in given.argument.replace(",", " ").split()]
    people = tuple(dict.fromkeys(given.by if word.lower() == "me" else word for word in words))
    wrong = next((name for name in people if not LOGIN.fullmatch(name)), "")
    if wrong or len(people) > MAX_PEOPLE:
        because = (
            f"{code(wrong, 40)} is not a login" if wrong else f"an issue has at most {MAX_PEOPLE} assignees"
        )
        return say(snapshot, given, f"No one was {given.command}ed: {because}.")
    if not people:
        return say(snapshot, given, f"Say whom: `/cardinal {given.command} me`, or logins of GitHub.")
    because = f"{given.by} {given.command}s {', '.join(people)}"
    return Decision((ChangeAssignees(snapshot.card_id, people, wanted, about(given)),), (because,))
