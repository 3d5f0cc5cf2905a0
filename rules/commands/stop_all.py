"""Stop every run on the board, now."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from rules.intents import Decision
from rules.inward import OrderStop
from rules.policy import Policy
from rules.replies import say
from rules.roles import Role
from rules.snapshot import Snapshot
from rules.stopping import targets

USAGE = "/cardinal stop-all"
ROLE = Role.ADMIN
TAKES = "none"
INSTEAD = "To stop one column: `/cardinal pause column`."


def obey(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Switch the board's kill switch on."""
    if any(stop.scope == "board" for stop in snapshot.stops):
        return say(snapshot, given, "The board is stopped already. `/cardinal resume board` lets it go on.")
    order = OrderStop(snapshot.card_id, snapshot.board_id, "board", targets(snapshot)["board"], given.by)
    return Decision((order,), (f"{given.by} stops the board",))
