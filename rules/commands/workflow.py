"""Choose the workflow of this card's next runs; `none` resets it."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from ledger.events.instruction import WorkflowPinned
from rules.chatops.replies import say
from rules.intents.outbound import Decision
from rules.policy.messages import unknown
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.policy.stages import NO_WORKFLOW
from rules.snapshot import Snapshot
from rules.text import alternatives

USAGE = "/cardinal workflow <name>|none"
ROLE = Role.WRITE
TAKES = "optional"


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Record the choice of one of the board's workflows; the card's next runs have its stages and routes."""
    wanted, known = given.argument.strip().strip("`").lower(), tuple(policy.board.workflows)
    if wanted == NO_WORKFLOW:
        cleared = WorkflowPinned(snapshot.card_id, "", given.by)
        return Decision((cleared,), (f"{given.by} undid the choice of a workflow for the card's next runs",))
    if wanted in known:
        pinned = WorkflowPinned(snapshot.card_id, wanted, given.by)
        return Decision((pinned,), (f"{given.by} chose the workflow {wanted} for the card's next runs",))
    if not known:
        return say(
            snapshot,
            given,
            "The policy has no workflows: define one under `board: workflows`, then choose it.",
        )
    wrong = f"Nothing was chosen: {unknown('workflow', wanted, known)}. " if wanted else ""
    which = alternatives(f"`/cardinal workflow {name}`" for name in (*known, NO_WORKFLOW))
    return say(snapshot, given, f"{wrong}Say {which}.")
