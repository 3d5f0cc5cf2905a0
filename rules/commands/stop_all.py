"""Stop every run on the board now."""

from collections.abc import Iterator
from datetime import datetime

from ledger.events.board import StopOrdered
from ledger.events.conversation import CommandGiven
from rules.chatops.offers import CommandOffer, Urgency
from rules.chatops.replies import say
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.runs.kill_switch import targets
from rules.snapshot import Snapshot

USAGE = "/cardinal stop-all"
ROLE = Role.ADMIN
INSTEAD = "To stop one column: `/cardinal pause column`."
IS_SAFE = True


def offers(policy: Policy, snapshot: Snapshot) -> Iterator[CommandOffer]:
    """Offer it on the board's page until the board is stopped."""
    if not any(stop.scope == "board" for stop in snapshot.stops):
        hint = "Stop every run on the board now"
        yield CommandOffer("stop-all", "Stop all runs", hint, Urgency.END, of_board=True)


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Switch the board's kill switch on."""
    if any(stop.scope == "board" for stop in snapshot.stops):
        return say(snapshot, given, "The board is already stopped. `/cardinal resume board` resumes it.")
    order = StopOrdered(snapshot.board_id, "board", targets(snapshot)["board"], given.by)
    return Decision((order,), (f"{given.by} stops the board",))
