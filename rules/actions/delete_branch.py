"""delete_branch: delete the card's branch once its pull request is merged."""

from typing import Literal

from pydantic import Field

from ledger.model.policy_settings import PolicyModel
from ledger.states import PullState
from rules.card.trigger import RuleTrigger
from rules.intents.outbound import Decision, DeleteBranch
from rules.policy.model import Policy
from rules.registry import Archetype
from rules.snapshot import Snapshot


class Settings(PolicyModel):
    """It has none."""

    action: Literal["delete_branch"] = Field(description="`delete_branch`.")


def fits(archetype: Archetype) -> bool:
    return archetype.HAS_REVIEWS or archetype.IS_FINAL


def plan(policy: Policy, snapshot: Snapshot, settings: Settings, trigger: RuleTrigger) -> Decision:
    """Delete the branch of a merged pull request; while it is open the merge comes first and calls again."""
    pull = snapshot.pull
    if pull is None or pull.state is not PullState.MERGED:
        return Decision((), ("the branch stays until its pull request is merged",))
    return Decision(
        (DeleteBranch(snapshot.card_id, pull.branch),), (f"pull request #{pull.number} is merged",)
    )


def headline(settings: Settings) -> str:
    return "deletes the branch"
