"""Follow this card, or only its live run: every notice about it reaches you by chat or mail."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from ledger.events.subscription import CardSubscribed
from ledger.ids import RunId
from ledger.states import Door
from rules.chatops.parser import door_of
from rules.chatops.replies import say
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot
from rules.text import code

USAGE = "/cardinal subscribe [run]"
ROLE = Role.READ
TAKES = "optional"


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Record it; general exclusions by the person, or the operator for them, do not hold for this card."""
    if door_of(given.source) == Door.CLI:
        return say(snapshot, given, "Only a GitHub account can follow a card: nothing was changed.")
    wanted, run = given.argument.strip().lower(), snapshot.live_run
    if wanted not in ("", "run"):
        return say(
            snapshot, given, "Say `/cardinal subscribe`, or `/cardinal subscribe run` for its live run."
        )
    if wanted and run is None:
        return say(snapshot, given, "No run is active here: `/cardinal subscribe` follows the card.")
    run_id = run.run_id if wanted and run else RunId("")
    subject = run_id or "the card"
    followed = CardSubscribed(snapshot.card_id, given.by, run_id)
    decision = Decision((followed,), (f"{given.by} follows {subject}",))
    if given.addresses_unread:
        why = "cannot read its file of addresses. Ask its operator to run `cardinal doctor`"
    elif given.no_address:
        remedy = code(f"cardinal notify add {given.by}")
        why = f"has no address for them. Ask Cardinal's operator to run {remedy}"
    else:
        return decision
    follows = f"{code(given.by, 40)} follows {subject}, but no notice can be sent yet"
    return decision + say(snapshot, given, f"{follows}: Cardinal {why}; notices come from then on.")
