"""start_run: queue a run of the column's agent on the card."""

from typing import Literal

from pydantic import Field

from ledger.model.policy_settings import PolicyModel
from rules.card.trigger import RuleTrigger
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.registry import Archetype
from rules.runs.start import start
from rules.snapshot import Snapshot


class Settings(PolicyModel):
    """It has none: the column's own keys say how the run goes."""

    action: Literal["start_run"] = Field(description="`start_run`.")


def fits(archetype: Archetype) -> bool:
    return archetype.STARTS_RUNS


def plan(policy: Policy, snapshot: Snapshot, settings: Settings, trigger: RuleTrigger) -> Decision:
    """Queue a run where there is something to do, or say why none starts."""
    return start(policy, snapshot, by=trigger.by, now=trigger.now)


def headline(settings: Settings) -> str:
    return "assigns an agent that starts work"
