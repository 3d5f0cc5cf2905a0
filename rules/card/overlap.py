"""Work on files that another card of the repository changes as well: the notes, and who waits."""

from collections.abc import Iterable

from ledger.rows.runs import RunRow
from ledger.rows.same_issue import SiblingRow
from rules.intents.outbound import Decision, Say
from rules.policy.model import Policy
from rules.snapshot import Snapshot
from rules.text import code, count, plain, sentence

MAX_FILES, MAX_NAMED = 3, 3  # that a sentence names


def describe(shared: Iterable[SiblingRow]) -> str:
    """Return who changes which of the same files, without a full stop; empty for nobody."""
    known = [it for it in shared if it.files]
    parts = [f"{_what(it)} changes {_files(it.files)}" for it in known[:MAX_NAMED]]
    if len(known) > MAX_NAMED:
        parts.append(f"{len(known) - MAX_NAMED} more change the same files")
    return ", and ".join(parts)


def holding(shared: Iterable[SiblingRow], own_pull: int) -> tuple[SiblingRow, ...]:
    """Return the blockers of a run that has not begun: runs at work, and pull requests older than its own.

    So no two cards wait for each other: whoever works waits for nobody, and of two pull requests only the
    younger one waits.
    """
    return tuple(it for it in shared if it.at_work or (it.pull and (not own_pull or it.pull < own_pull)))


def overlap_obstacle(shared: Iterable[SiblingRow], own_pull: int) -> str:
    """Return why a run waits where the policy says `overlap: wait`; empty when it does not."""
    held_by = describe(holding(shared, own_pull))
    return f"{held_by} as well: it waits until that is merged or closed (`overlap: wait`)" if held_by else ""


def notice_overlap(policy: Policy, snapshot: Snapshot, run: RunRow) -> Decision:
    """Say once on the card which other work changes the same files; `snapshot.shared` has them."""
    known = describe(snapshot.shared)
    if policy.board.overlap == "ignore" or not known or run.mode != "fix":
        return Decision()
    text = (
        f"{sentence(f'{run.run_id} works on files that others change: {known}')} The one merged second"
        " has to be rebased: review them together, or pause one with `/cardinal pause`."
    )
    names = ",".join(shared.name for shared in snapshot.shared)
    return Decision((Say(snapshot.card_id, f"overlap:{run.run_id}:{plain(names, 200)}", text),), (known,))


def _what(shared: SiblingRow) -> str:
    return f"pull request {shared.name}" if shared.pull else shared.name


def _files(files: tuple[str, ...]) -> str:
    named = ", ".join(code(path, 120) for path in files[:MAX_FILES])
    more = len(files) - MAX_FILES
    return f"{named} and {count(more, 'more file')}" if more > 0 else named
