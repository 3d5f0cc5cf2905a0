"""merge: merge the card's pull request, guarded by the head that was seen."""

from typing import Literal

from pydantic import Field

from ledger.states import Archetype, CardState, Gate
from rules.card_state import change
from rules.checking import unasked
from rules.gating import why_not
from rules.intents import Decision, MarkReady, MergePull, Say
from rules.inward import Explain, QueueRun
from rules.occasion import Occasion
from rules.policy import Policy
from rules.policy_repository import Part
from rules.snapshot import PullSeen, Snapshot
from rules.words import plain, sentence

ARCHETYPES = frozenset({Archetype.REVIEW, Archetype.TERMINAL})


class Settings(Part):
    """How it is merged."""

    action: Literal["merge"] = Field(description="`merge`.")
    method: Literal["merge", "squash", "rebase"] = Field("squash", description="GitHub's merge method.")
    requires: Literal["approved", "none"] = Field(
        "approved",
        description="`approved`: only a commit that somebody with write access has approved; `none`: any.",
    )


def plan(policy: Policy, snapshot: Snapshot, settings: Settings, occasion: Occasion) -> Decision:
    """Merge an open pull request; one that its run left unfinished is not merged."""
    pull, run, card = snapshot.open_pull, snapshot.run, snapshot.card_id
    if pull is None:
        return Decision((), ("there is no open pull request to merge",))
    finished = run is not None and run.has_finished_work
    if pull.draft and not finished:
        because = f"pull request #{pull.number} is a draft and its work is not finished: it was not merged"
        return change(policy, snapshot, CardState.BLOCKED, because)
    first = _checked_first(policy, snapshot, pull, occasion)
    if first is not None:
        return first
    missing = _missing(snapshot, pull, settings)
    if missing:
        because = f"pull request #{pull.number} could not be merged: {missing}"
        # Nobody looks at a card in its last column again: the comment calls for somebody.
        told = Say(card, f"merge:{occasion.key}", sentence(because), "pull")
        return change(policy, snapshot, CardState.BLOCKED, because) + Decision((told,))
    ready = (MarkReady(card, about=occasion.key),) if pull.draft else ()
    because = f"merging pull request #{pull.number}"
    act = MergePull(card, settings.method, pull.head, about=occasion.key, requires=settings.requires)
    return Decision((*ready, act, Explain(card, because)), (because,))


def _checked_first(policy: Policy, snapshot: Snapshot, pull: PullSeen, occasion: Occasion) -> Decision | None:
    """Let the gate look at a commit that it has not seen, before it is merged; None where that is no use."""
    if pull.gate is not Gate.UNSEEN:
        return None
    checking, started = snapshot.checking, unasked(policy, snapshot, occasion.now)
    queued = any(isinstance(intent, QueueRun) for intent in started.intents)
    if not queued and not (checking is not None and checking.alive):
        return None
    because = (
        f"pull request #{pull.number} is checked first, for somebody else pushed its commit; then merged"
    )
    return change(policy, snapshot, CardState.BLOCKED, because) + started


def _missing(snapshot: Snapshot, pull: PullSeen, settings: Settings) -> str:
    """Return what people have to do before it may be merged; empty when nothing is missing."""
    then = "then drag the card here again, or say /cardinal retry"
    if snapshot.verdict == "changes_requested":
        return f"a review requested changes. Let it be served or dismissed, {then}"
    unchecked = why_not(pull)
    if unchecked:
        return f"{unchecked}, {then}"
    if settings.requires == "none":
        return ""
    if snapshot.verdict != "approved":
        return f"it waits for an approving review by somebody with write access, {then}"
    if snapshot.approved_head != pull.head:
        seen = f"commit {plain(snapshot.approved_head, 7)}" if snapshot.approved_head else "another commit"
        return f"the review approved {seen}, and it has changed since. Let it be approved again, {then}"
    return ""


def headline(settings: Settings) -> str:
    """Say it for the column's header."""
    approved = "approved " if settings.requires == "approved" else ""
    return f"merges the {approved}pull request ({settings.method})"
