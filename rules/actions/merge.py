"""merge: merge the card's pull request, guarded by the head that was seen."""

from typing import Literal

from pydantic import Field

from ledger.events.board import CardExplained
from ledger.model.policy_settings import PolicyModel
from ledger.states import CardState, Gate
from rules.card.trigger import RuleTrigger
from rules.handlers import merge_queue
from rules.intents.internal import QueueRun, show_card
from rules.intents.outbound import Decision, MarkReady, MergePull, Say
from rules.policy.model import Policy
from rules.registry import Archetype
from rules.runs.check_only import check_push
from rules.runs.gate import unmergeable, why_not
from rules.snapshot import CardPull, Snapshot
from rules.text import sentence

_THEN = "then drag the card here again, or say /cardinal retry"


class Settings(PolicyModel):
    """How it is merged."""

    action: Literal["merge"] = Field(description="`merge`.")
    method: Literal["merge", "squash", "rebase"] = Field("squash", description="GitHub's merge method.")
    requires: Literal["approved", "none"] = Field(
        "approved",
        description="`approved`: only a commit that someone with write access has approved; `none`: any.",
    )
    lane: bool = Field(
        default=False,
        description="Whether cards of a repository are merged one after another, each one rebased and checked"
        " on what was merged before it: the [merge lane](#merge-lane). In a `terminal` column only.",
    )


def fits(archetype: Archetype) -> bool:
    return archetype.HAS_REVIEWS or archetype.IS_FINAL


def plan(policy: Policy, snapshot: Snapshot, settings: Settings, trigger: RuleTrigger) -> Decision:
    """Merge an open pull request; one that its run left unfinished is not merged."""
    pull, card = snapshot.open_pull, snapshot.card_id
    if pull is None:
        return Decision((), ("there is no open pull request to merge",))
    missing = unmergeable(snapshot, pull, settings.requires)
    if missing and missing == why_not(pull):  # nothing else is missing
        first = _check_first(policy, snapshot, pull, trigger)
        if first is not None:
            return first
    if missing:
        because = f"pull request #{pull.number} could not be merged: {missing}, {_THEN}"
        # Nobody looks at a card in its last column again: the comment calls for somebody.
        notice = Say(card, f"merge:{trigger.key}", sentence(because), "pull")
        return show_card(CardState.BLOCKED, because) + Decision((notice,))
    ready = (MarkReady(card, about=trigger.key),) if pull.draft else ()
    because = f"merging pull request #{pull.number}"
    in_lane = settings.lane and snapshot.archetype.IS_FINAL
    if in_lane and snapshot.lane_ahead:
        return merge_queue.wait_for_turn(snapshot)
    act = MergePull(card, settings.method, pull.head, trigger.key, requires=settings.requires, fresh=in_lane)
    if in_lane:
        return Decision((*ready, act)) + merge_queue.lead(snapshot, pull)
    return Decision((*ready, act, CardExplained(card, because)), (because,))


def _check_first(policy: Policy, snapshot: Snapshot, pull: CardPull, trigger: RuleTrigger) -> Decision | None:
    """Let the gate look at a commit that it has not seen, before it is merged; None where that is no use."""
    if pull.gate is not Gate.UNSEEN:
        return None
    started = check_push(policy, snapshot, trigger.now)
    queued = any(isinstance(intent, QueueRun) for intent in started.intents)
    if not queued and snapshot.live_check is None:
        return None
    because = (
        f"pull request #{pull.number} is checked first, since its commit did not come from a run, then merged"
    )
    return show_card(CardState.BLOCKED, because) + started


def headline(settings: Settings) -> str:
    approved = "approved " if settings.requires == "approved" else ""
    return f"merges the {approved}pull request ({settings.method})"
