"""Add a dependency on GitHub, between this issue and another one of its repository."""

import re
from datetime import datetime

from ledger.events.conversation import CommandGiven
from ledger.ids import RunId
from rules.chatops.replies import say
from rules.intents.by_command import UnlinkCard
from rules.intents.outbound import Decision, LinkCard
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot
from rules.text import code

USAGE = "/cardinal link blocked_by|blocks <issue>"
ROLE = Role.TRIAGE  # as at GitHub
TAKES = "optional"
ISSUE = re.compile(r"(?P<repository>[\w.-]{1,100}/[\w.-]{1,100})?#(?P<number>[1-9][0-9]{0,8})", re.ASCII)
RELATIONS = ("blocked_by", "blocks")
NOBODY = RunId("")  # no run's agent wants it


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Add it, unless the two would wait for each other in a circle; a queued run waits for its blockers."""
    relation, _, issue = given.argument.strip().partition(" ")
    return change(snapshot, given, relation.lower().replace("-", "_"), issue, wanted=True)


def change(snapshot: Snapshot, given: CommandGiven, relation: str, issue: str, *, wanted: bool) -> Decision:
    """Add or remove the dependency; the caller's role is known in the card's own repository only."""
    here, meant = snapshot.repository or "", ISSUE.fullmatch(issue.strip())
    if meant is None or relation not in RELATIONS:
        text = f"Nothing was changed: say `/cardinal {given.command} blocked_by #12`, or `blocks`."
        return say(snapshot, given, text)
    if (meant["repository"] or here).casefold() != here.casefold():
        text = f"{code(issue.strip(), 140)} is in another repository: change it on the issue at GitHub."
        return say(snapshot, given, text)
    number = int(meant["number"])
    if number == snapshot.number:
        return say(snapshot, given, "An issue cannot wait for itself.")
    target, about = f"{here}#{number}", f"command{given.comment_id}"
    because = f"{given.by} {'adds' if wanted else 'removes'} the dependency: {relation} {target}"
    if wanted:
        return Decision((LinkCard(snapshot.card_id, NOBODY, target, relation, about),), (because,))
    return Decision((UnlinkCard(snapshot.card_id, target, relation, about),), (because,))
