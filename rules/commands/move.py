"""Move the card to a column, as a drag would."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from rules.card.move_rights import may_move
from rules.card.trigger import stamp
from rules.chatops.parser import left_column
from rules.chatops.replies import say
from rules.intents.outbound import Decision, MoveCard
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Mover, Snapshot
from rules.text import alternatives, code

USAGE = "/cardinal move <column>"
ROLE = Role.WRITE
TAKES = "optional"


def obey(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Move the card for whoever may drag it; one with a run stays until that is cancelled or has ended."""
    wanted, here = given.argument.strip(), (snapshot.column or "").casefold()
    column = next((name for name in policy.board.columns if name.casefold() == wanted.casefold()), "")
    if not may_move(policy, Mover(given.by, given.role)):
        may = alternatives(code(word) for word in policy.board.move)
        return say(snapshot, given, f"The policy lets {may} move cards, so the card stays where it is.")
    if not column:
        names = alternatives(code(name) for name in policy.board.columns)
        return say(snapshot, given, f"Nothing was moved: say {names}, as in `{USAGE}`.")
    if column.casefold() == here:
        return say(snapshot, given, f"The card stands in {code(column)} already.")
    shown = left_column(given.source)
    if shown is not None and shown.casefold() != here:
        return say(snapshot, given, f"The card left {code(shown)} meanwhile, so it was not moved.")
    run = snapshot.live_run
    if run is not None:
        text = f"{run.run_id} lives, so the card stays: `/cardinal cancel` first, or drag the card."
        return say(snapshot, given, text)
    about = f"command:{stamp(now)}"
    move = MoveCard(snapshot.card_id, column, about, source=snapshot.column or "", by=given.by)
    return Decision((move,), (f"{given.by} moves the card to {column}",))
