"""ready: take the card's pull request out of draft."""

from typing import Literal

from pydantic import Field

from ledger.states import Archetype
from rules.intents import Decision, MarkReady
from rules.occasion import Occasion
from rules.policy import Policy
from rules.policy_repository import Part
from rules.snapshot import Snapshot

ARCHETYPES = frozenset({Archetype.REVIEW, Archetype.TERMINAL})


class Settings(Part):
    """It has none."""

    action: Literal["ready"] = Field(description="`ready`.")


def plan(policy: Policy, snapshot: Snapshot, settings: Settings, occasion: Occasion) -> Decision:
    """Mark an open draft as ready for review."""
    pull = snapshot.open_pull
    if pull is None or not pull.draft:
        return Decision((), ("there is no draft pull request",))
    return Decision((MarkReady(snapshot.card_id, about=occasion.key),), (f"#{pull.number} leaves draft",))


def headline(settings: Settings) -> str:
    """Say it for the column's header."""
    return "takes the pull request out of draft"
