"""Whether a pull request may leave draft and be merged: one set of conditions for face, reasons and merge."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ledger.model.column_names import same_column
from ledger.rows.runs import RunRow
from ledger.states import CardState, Gate
from rules.card.state import DerivedState
from rules.intents.outbound import Decision, Intent, MarkReady
from rules.policy.model import Policy
from rules.snapshot import CardPull, Snapshot
from rules.text import count, plain, sentence

CHECK = "Run the checks on it with /cardinal check (no agent is started)"
_UNFINISHED = "its work is not finished. Let a run finish it with /cardinal retry"
_AGAIN = "run the checks on it once more with /cardinal check (no agent is started)"


def why_not(pull: CardPull) -> str:
    """Return why the commit may neither leave draft nor be merged, with the way out; empty when it may.

    Who takes unfinished work out of draft by hand has decided that.
    """
    if pull.draft and pull.unfinished:
        return _UNFINISHED
    if pull.gate.lets_through:
        return ""
    commit = plain(pull.head[:7])
    if pull.gate is Gate.FAILED:
        return f"the checks failed on its commit {commit}. Push a fix, or {_AGAIN}"
    seen = f"Cardinal checked {plain(pull.checked[:7])}" if pull.checked else "it did not come from a run"
    return f"its commit {commit} is not checked: {seen}. {CHECK}"


def missing_review(snapshot: Snapshot, pull: CardPull, requires: str) -> str:
    """Return the review that a merge lacks, and who can help; empty when it lacks none.

    `requires`: `approved`, or `none` where only a request for changes counts.
    """
    if snapshot.verdict == "changes_requested":
        return "a review requested changes. Address it, or have it dismissed"
    if requires == "none":
        return ""
    if snapshot.verdict != "approved":
        return "no one with write access has approved it. Have it approved"
    if snapshot.approved_head != pull.head:
        seen = f"commit {plain(snapshot.approved_head, 7)}" if snapshot.approved_head else "another commit"
        return f"the review approved {seen}, and it has changed since. Have it approved again"
    return ""


@dataclass(frozen=True, slots=True)
class MergeCondition:
    """One thing that a merge takes: as a sentence of what is, and what to do where it is not met."""

    is_met: bool
    text: str


def list_merge_conditions(policy: Policy, snapshot: Snapshot, pull: CardPull) -> tuple[MergeCondition, ...]:
    """Return everything that a merge of the pull request takes; each of `unmergeable` is among it."""
    commit, threads = plain(pull.head[:7]), snapshot.pending_threads
    requires = merge_of(policy)
    review = missing_review(snapshot, pull, requires)
    columns = merging_columns(policy)
    there = any(same_column(name, snapshot.column) for name in columns)
    gate = "" if pull.gate.lets_through else why_not(replace(pull, draft=False))
    passed = f"Checks passed on {commit}, on a clean checkout"
    waived = f"The policy asks for no checks of {commit}"
    approved = f"Approved on {commit}" if requires == "approved" else "No one requested changes"
    conditions = [
        MergeCondition(not gate, sentence(gate) if gate else waived if pull.gate is Gate.NOTHING else passed),
        MergeCondition(not review, sentence(review) if review else approved),
    ]
    if _is_unfinished(snapshot, pull) or (pull.draft and pull.unfinished):
        conditions.append(MergeCondition(False, sentence(f"it is a draft and {_UNFINISHED}")))
    if snapshot.given_up:
        conditions.append(MergeCondition(False, sentence(_describe_given_up(snapshot))))
    if threads:
        text = f"{count(threads, 'review comment')} still open"
        conditions.append(MergeCondition(False, text))
    if columns:
        named = plain(columns[0], 60)
        text = f"In {plain(snapshot.column or '', 60)}" if there else f"Move the card to {named} to merge it"
        conditions.append(MergeCondition(there, text))
    return tuple(conditions)


def merging_columns(policy: Policy) -> tuple[str, ...]:
    """Return the columns whose entry merges the pull request."""
    return tuple(name for name, _ in _merges(policy))


def _describe_given_up(snapshot: Snapshot) -> str:
    return f"its issue was closed as {snapshot.closed.replace('_', ' ')}. Reopen it"


def unmergeable(snapshot: Snapshot, pull: CardPull, requires: str) -> str:
    """Return why the pull request may not be merged as it is, with the way out; empty when it may."""
    if snapshot.given_up:
        return _describe_given_up(snapshot)
    if _is_unfinished(snapshot, pull):
        return f"it is a draft and {_UNFINISHED}"
    return missing_review(snapshot, pull, requires) or why_not(pull)


def _is_unfinished(snapshot: Snapshot, pull: CardPull) -> bool:
    return pull.draft and not (snapshot.run is not None and snapshot.run.has_finished_work)


def merge_of(policy: Policy) -> str:
    """Return the review that the merging column requires; `approved` where no column merges."""
    return next((step.get("requires", "approved") for _, step in _merges(policy)), "approved")


def _merges(policy: Policy) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the columns that merge, each with its step."""
    for name, column in policy.board.columns.items():
        yield from ((name, step) for step in column.entry_actions if step["action"] == "merge")


def of_approved(policy: Policy, snapshot: Snapshot, pull: CardPull, otherwise: CardState) -> DerivedState:
    """Return the state of an approved pull request; `otherwise` is the state until it is approved again."""
    number = f"pull request #{pull.number}"
    stale = missing_review(snapshot, pull, merge_of(policy))
    if stale:
        return DerivedState(otherwise, f"{number} is not ready to be merged: {stale}")
    because = unmergeable(snapshot, pull, merge_of(policy))
    hopeless = snapshot.given_up or _is_unfinished(snapshot, pull)
    if because and (hopeless or not _is_checked_first(policy, snapshot, pull)):
        return DerivedState(CardState.BLOCKED, f"{number} is approved and cannot be merged: {because}")
    first = " (its commit is checked first)" if because else ""
    merging = next((f"to {plain(name, 60)} to merge it" for name, _ in _merges(policy)), "on")
    return DerivedState(CardState.APPROVED, f"{number} is approved: drag the card {merging}{first}")


def count_recent_checks(checks: Sequence[RunRow], now: datetime) -> int:
    """Return how many of the checks were queued within the hour before `now`."""
    return sum(now - check.queued_at < timedelta(hours=1) for check in checks)


def _is_checked_first(policy: Policy, snapshot: Snapshot, pull: CardPull) -> bool:
    """Whether a drag to the merging column lets the commit be checked, unasked. No clock is read: after as
    many checks as begin within an hour somebody asks for the next one.
    """
    if pull.gate is not Gate.UNSEEN or snapshot.run is None:
        return False
    checks = snapshot.checks
    if not checks or checks[0].alive:
        return True
    return count_recent_checks(checks, checks[0].queued_at) < policy.limits.automatic_runs_per_hour


def leaves_draft(snapshot: Snapshot, about: str) -> Decision:
    """Take the pull request out of draft where the gate let its very commit through; else say why not."""
    pull = snapshot.open_pull
    if pull is None or not pull.draft:
        return Decision((), ("there is no draft pull request",))
    because = why_not(pull)
    if because:
        return Decision((), (f"#{pull.number} stays a draft: {because}",))
    ready: tuple[Intent, ...] = (MarkReady(snapshot.card_id, about=about),)
    return Decision(ready, (f"#{pull.number} leaves draft",))
