"""Follow this card, or only its live run: every notice about it reaches you by chat or mail."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from ledger.events.subscription import CardSubscribed
from ledger.ids import RunId
from rules.chatops.replies import say
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot

USAGE = "/cardinal subscribe [run]"
ROLE = Role.READ
TAKES = "optional"


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Record it; general exclusions by the person, or the operator for them, do not hold for this card."""
    wanted, run = given.argument.strip().lower(), snapshot.live_run
    if wanted not in ("", "run"):
        return say(
            snapshot, given, "Say `/cardinal subscribe`, or `/cardinal subscribe run` for its live run."
        )
    if wanted and run is None:
        return say(snapshot, given, "No run is alive here: `/cardinal subscribe` follows the card.")
    run_id = run.run_id if wanted and run else RunId("")
    followed = CardSubscribed(snapshot.card_id, given.by, run_id)
    return Decision((followed,), (f"{given.by} follows {run_id or 'the card'}",))
