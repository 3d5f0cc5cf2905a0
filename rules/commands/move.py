"""Move the card to a column, as a drag would."""

from collections.abc import Iterator
from datetime import datetime

from ledger.events.conversation import CommandGiven
from ledger.model.column_names import same_column
from rules.card.trigger import time_stamp
from rules.chatops.offers import CommandOffer, Urgency
from rules.chatops.parser import column_of_move
from rules.chatops.replies import say
from rules.intents.outbound import Decision, MoveCard
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot
from rules.text import alternatives, code, plain

USAGE = "/cardinal move <column>"
ROLE = Role.WRITE
TAKES = "optional"
MOVES = True


def offers(policy: Policy, snapshot: Snapshot) -> Iterator[CommandOffer]:
    """Offer the other columns to anyone who may drag the card there."""
    columns = tuple(
        (name, plain(name)) for name in policy.board.columns if not same_column(name, snapshot.column)
    )
    if snapshot.live_run is None and columns:
        name, hint = f"move:{snapshot.column or ''}", "Move the card, as a drag would, to"
        yield CommandOffer(name, "Move", hint, Urgency.CARD, choices=columns)


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Move the card, if you may drag it; one with a run stays until that is cancelled or has ended."""
    wanted = given.argument.strip()
    column = next((name for name in policy.board.columns if same_column(name, wanted)), "")
    if not column:
        names = alternatives(code(name) for name in policy.board.columns)
        return say(snapshot, given, f"Nothing was moved: say {names}, as in `{USAGE}`.")
    if same_column(column, snapshot.column):
        return say(snapshot, given, f"The card is already in {code(column)}.", is_done=True)
    shown = column_of_move(given.source)
    if shown is not None and not same_column(shown, snapshot.column):
        return say(snapshot, given, f"The card has left {code(shown)}, so it was not moved.")
    run = snapshot.live_run
    if run is not None:
        text = f"{run.run_id} has not ended, so the card stays: `/cardinal cancel` first, or drag the card."
        return say(snapshot, given, text)
    about = f"command:{time_stamp(now)}"
    move = MoveCard(snapshot.card_id, column, about, source=snapshot.column or "", by=given.by)
    return Decision((move,), (f"{given.by} moves the card to {column}",))
