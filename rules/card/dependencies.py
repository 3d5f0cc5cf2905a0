"""A card whose issue is blocked by others: its run waits in the queue until they are done."""

from ledger.ids import RunId
from ledger.states import CardState
from rules.intents.outbound import Decision, Say
from rules.snapshot import BlockerSeen, Snapshot, Standing
from rules.text import count, plain, sentence

MAX_NAMED = 3


def waiting(snapshot: Snapshot) -> tuple[CardState, str] | None:
    """Return the state of a waiting card and its reason; None when nothing holds its queued run back."""
    if snapshot.circle:
        way = " → ".join(snapshot.circle)
        said = f"itself in a circle ({way}): remove one of these dependencies on its issue"
        return CardState.NEEDS_INPUT, f"waits for {said}"
    left = [blocker for blocker in snapshot.blockers if blocker.standing is Standing.ABANDONED]
    if left:
        said = f"{_named(left)}, closed as not planned: remove that dependency on the issue to start anyway"
        return CardState.NEEDS_INPUT, f"waits for {said}, or /cardinal cancel"
    still = [blocker for blocker in snapshot.blockers if blocker.standing is Standing.OPEN]
    if still:
        return CardState.QUEUED, f"waits for {_named(still)}: it starts by itself then"
    return None


def _named(blockers: list[BlockerSeen]) -> str:
    seen = [
        f"{blocker.name} ({plain(blocker.title, 60)})" if blocker.title else blocker.name
        for blocker in blockers
        if blocker.name
    ]
    more = len(seen) - MAX_NAMED
    named = ", ".join(seen[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
    unseen = len(blockers) - len(seen)
    hidden = f"{count(unseen, 'issue')} out of Cardinal's sight" if unseen else ""
    return " and ".join(filter(None, (named, hidden)))


def ask_about_blockers(snapshot: Snapshot, run_id: RunId) -> Decision:
    """Ask people, as a comment that notifies, where the run cannot start without them."""
    held = waiting(snapshot)
    if held is None or held[0] is not CardState.NEEDS_INPUT:
        return Decision()
    left = [blocker.name for blocker in snapshot.blockers if blocker.standing is Standing.ABANDONED]
    about = "-".join(snapshot.circle or left)[:300]
    said = Say(snapshot.card_id, f"depends:{run_id}:{about}", sentence(f"{run_id} {held[1]}"))
    return Decision((said,), (f"{run_id} needs a word about what it waits for",))
