"""start_run: queue a run of the column's agent on the card."""

from typing import Literal

from pydantic import Field

from ledger.states import Archetype
from rules.card.trigger import RuleTrigger
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.repository import PolicyModel
from rules.runs.start import start
from rules.snapshot import Snapshot

ARCHETYPES = frozenset({Archetype.EXECUTION})


class Settings(PolicyModel):
    """It has none: the column's own keys say how the run goes."""

    action: Literal["start_run"] = Field(description="`start_run`.")


def plan(policy: Policy, snapshot: Snapshot, settings: Settings, occasion: RuleTrigger) -> Decision:
    """Queue a run where there is something to do, or say why none starts."""
    return start(policy, snapshot, by=occasion.by, now=occasion.now)


def headline(settings: Settings) -> str:
    """Say it for the column's header."""
    return "assigns an agent that starts work"
