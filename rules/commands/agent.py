"""Choose the agent, or specialist, of this card's next runs, and its model; `none` resets it."""

from collections.abc import Iterator
from datetime import datetime

from ledger.events.conversation import CommandGiven
from ledger.events.instruction import AgentPinned
from rules.card.agent_choice import find_choice, list_choices
from rules.chatops.offers import CommandOffer, Urgency
from rules.chatops.replies import say
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.policy.stages import MARK
from rules.snapshot import Snapshot
from rules.text import alternatives, code, plain

USAGE = "/cardinal agent <agent>[/<model>]|none"
ROLE = Role.WRITE
TAKES = "optional"


def offers(policy: Policy, snapshot: Snapshot) -> Iterator[CommandOffer]:
    """Offer the `agents` of the card's column."""
    column = snapshot.column_policy
    if column is not None and column.agents:
        names = (*(choice.removeprefix(MARK) for choice in column.agents), "none")
        labels = (*names[:-1], "the column's own")
        choices = tuple((name, plain(label)) for name, label in zip(names, labels, strict=True))
        yield CommandOffer("agent", "Choose", "The agent of its next runs", Urgency.CARD, choices=choices)


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Record the choice if `agents` of any column has it; a column that has not keeps its own agent."""
    choice = given.argument.strip().strip("`")
    if choice.lower() == "none":
        cleared = AgentPinned(snapshot.card_id, "", given.by)
        return Decision((cleared,), (f"{given.by} chose the column's own agent for the card's next runs",))
    allowed = list_choices(policy)
    if meant := find_choice(policy, choice):
        pinned = AgentPinned(snapshot.card_id, meant, given.by)
        return Decision((pinned,), (f"{given.by} chose {meant} for the card's next runs",))
    if not allowed:
        return say(
            snapshot, given, "No column of the policy lets people choose an agent: list some in its `agents`."
        )
    wrong = f"Nothing was chosen: no column has {code(choice, 60)} in its `agents`. " if choice else ""
    which = alternatives(f"`/cardinal agent {name.removeprefix(MARK)}`" for name in (*allowed, "none"))
    return say(snapshot, given, f"{wrong}Say {which}.")
