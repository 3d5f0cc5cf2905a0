"""Add labels to the card's issue, separated by commas; GitHub creates those that its repository lacks."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from rules.chatops.replies import about, say
from rules.intents.outbound import Decision
from rules.intents.rule_results import AddLabels
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot
from rules.text import code, plain

USAGE = "/cardinal label <labels>"
ROLE = Role.WRITE  # GitHub lets triage apply a label, and write create one
TAKES = "optional"
MOVES = True  # labels choose agents, repositories, modes and skills: as for the author of a label on GitHub
MAX_LABELS = 20
MAX_LABEL = 50  # characters that GitHub takes. Source: docs.github.com/rest/issues/labels#create-a-label


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Add them at GitHub; what the policy says of a label counts from the card's next run on."""
    labels = tuple(dict.fromkeys(filter(None, (name.strip() for name in given.argument.split(",")))))
    wrong = next((name for name in labels if len(name) > MAX_LABEL or plain(name) != name), "")
    if wrong or len(labels) > MAX_LABELS:
        because = (
            f"{code(wrong, 60)} is not a label's name, which has at most {MAX_LABEL} characters on one line"
            if wrong
            else f"these are more than {MAX_LABELS}"
        )
        return say(snapshot, given, f"No label was added: {because}.")
    if not labels:
        return say(snapshot, given, "Say which: `/cardinal label bug, area:api`.")
    because = f"{given.by} adds {', '.join(labels)}"
    return Decision((AddLabels(snapshot.card_id, labels, about(given)),), (because,))
