"""ready: take the card's pull request out of draft."""

from typing import Literal

from pydantic import Field

from ledger.events.board import CardExplained
from ledger.model.policy_settings import PolicyModel
from rules.card.trigger import RuleTrigger
from rules.intents.outbound import Decision, Say
from rules.policy.model import Policy
from rules.registry import Archetype
from rules.runs.gate import leaves_draft, why_not
from rules.snapshot import Snapshot
from rules.text import plain, sentence


class Settings(PolicyModel):
    """It has none."""

    action: Literal["ready"] = Field(description="`ready`.")


def fits(archetype: Archetype) -> bool:
    return archetype.HAS_REVIEWS or archetype.IS_FINAL


def plan(policy: Policy, snapshot: Snapshot, settings: Settings, trigger: RuleTrigger) -> Decision:
    """Mark an open draft as ready for review, unless the gate did not let its commit through: then say so."""
    decision = leaves_draft(snapshot, trigger.key)
    pull = snapshot.open_pull
    because = why_not(pull) if pull is not None and pull.draft else ""
    if not because:
        return decision
    message = f"pull request #{pull.number} stays a draft: {because}" if pull else because
    say = Say(snapshot.card_id, f"draft:{trigger.key}", sentence(message), "pull")
    return decision + Decision((CardExplained(snapshot.card_id, plain(message, 300)), say), (message,))


def headline(settings: Settings) -> str:
    return "marks its pull request ready"
