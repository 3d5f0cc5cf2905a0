"""start_run: queue a run of the column's agent on the card."""

from typing import Literal

from pydantic import Field

from ledger.states import Archetype
from rules.intents import Decision
from rules.occasion import Occasion
from rules.policy import Policy
from rules.policy_repository import Part
from rules.snapshot import Snapshot
from rules.starting import start

ARCHETYPES = frozenset({Archetype.EXECUTION})


class Settings(Part):
    """It has none: the column's own keys say how the run goes."""

    action: Literal["start_run"] = Field(description="`start_run`.")


def plan(policy: Policy, snapshot: Snapshot, settings: Settings, occasion: Occasion) -> Decision:
    """Queue a run where there is something to do, or say why none starts."""
    return start(policy, snapshot, by=occasion.by, now=occasion.now)


def headline(settings: Settings) -> str:
    """Say it for the column's header."""
    return "assigns an agent that starts work"
