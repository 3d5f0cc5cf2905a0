"""Say that the card is done: move it to its last column, whose policy decides about the merge."""

from dataclasses import replace
from datetime import datetime

from ledger.events.conversation import CommandGiven, HandedOver
from rules.chatops.replies import say
from rules.commands import move
from rules.intents.outbound import Decision, Say
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot
from rules.text import alternatives, code

USAGE = "/cardinal complete [<text>]"
ROLE = Role.WRITE
TAKES = "optional text"
TAKES_METADATA = True
ALSO = ("move",)
KEPT = "Your text is kept: the card's next run and the cards that depend on it get it."


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Move the card as a drag would, past no gate; of several last columns `/cardinal move` names one.

    A text is kept like a run's report, also when the card is already there or cannot move: its next run and
    the cards that depend on it get it.
    """
    moved = _move(policy, snapshot, given, now)
    if not (given.argument.strip() or given.metadata):
        return moved
    said = tuple(
        replace(it, text=f"{it.text} {KEPT}", is_done=True) if isinstance(it, Say) else it
        for it in moved.intents
    )
    handed_over = HandedOver(snapshot.card_id, given.by, given.argument.strip(), given.metadata)
    return Decision((handed_over, *said), (*moved.because, f"{given.by} hands over"))


def _move(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    last = [name for name in policy.board.columns if policy.archetype(name).IS_FINAL]
    if len(last) != 1:
        ways = alternatives(code(f"/cardinal move {name}") for name in last)
        text = (
            f"Several columns complete cards: say {ways}."
            if last
            else "No column of this board completes cards."
        )
        return say(snapshot, given, text)
    return move.handle(policy, snapshot, replace(given, argument=last[0]), now)
