"""What the gate's word on the pull request's commit means: whether it may leave draft and be merged."""

from ledger.states import Gate
from rules.intents import Decision, Intent, MarkReady
from rules.snapshot import PullSeen, Snapshot
from rules.words import code

CHECK = "Run the checks on it with `/cardinal check` (no agent is started)"
_AGAIN = "run the checks on it once more with `/cardinal check` (no agent is started)"


def why_not(pull: PullSeen) -> str:
    """Return why the commit may neither leave draft nor be merged, with the way out; empty when it may."""
    if pull.gate.lets_through:
        return ""
    commit = code(pull.head[:7], 7)
    if pull.gate is Gate.FAILED:
        return f"the checks failed on its commit {commit}. Push what mends it, or {_AGAIN}"
    seen = f"Cardinal checked {code(pull.checked[:7], 7)}" if pull.checked else "somebody else pushed it"
    return f"its commit {commit} is not checked: {seen}. {CHECK}"


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
