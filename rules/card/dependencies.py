"""A card whose issue is blocked by others, or waits for its sub-issues: its run stays queued until then."""

from collections.abc import Sequence

from ledger.ids import RunId
from ledger.rows.limit_answers import (
    GO_WITHOUT,
    RETRY_PART,
    STOP,
    Code,
    Subject,
    answer_question,
    of_rules,
    subject_of,
)
from ledger.rows.links import LinkRow, is_open
from ledger.rows.questions import QuestionRow
from ledger.states import BY_ITSELF, CardState, Ending
from rules.intents.outbound import Decision, Say
from rules.policy.model import Policy
from rules.snapshot import Snapshot
from rules.text import count, plain, sentence

MAX_NAMED = 3
ELSEWHERE = "an issue in another repository"


def why_waiting(policy: Policy, snapshot: Snapshot) -> tuple[CardState, str] | None:
    """Return the state of a waiting card and its reason; None when nothing holds its queued run back.

    Whoever may read the card may read the reason: it names no private issue of another repository.
    """
    if snapshot.circle:
        way = " → ".join(_label(policy, snapshot, issue) for issue in snapshot.circle)
        said = f"itself in a circle ({way}): remove one of these dependencies on its issue"
        return CardState.NEEDS_INPUT, f"waiting for {said}"
    links = _list_abandoned(snapshot)
    if links:
        said = (
            "closed as not planned: remove that dependency on the issue to start anyway, or /cardinal cancel"
        )
        return CardState.NEEDS_INPUT, f"waiting for {_name_blockers(policy, snapshot, links)}, {said}"
    still = [link for link in snapshot.blockers if link.holds]
    if still:
        return (
            CardState.QUEUED,
            f"waiting for {_name_blockers(policy, snapshot, still)}: it starts on its own then",
        )
    if snapshot.parts:
        which = (
            f"{count(len(snapshot.parts), 'sub-issue')}, {_name_blockers(policy, snapshot, snapshot.parts)}"
        )
        return CardState.QUEUED, f"waiting for {which}: it starts by itself when they are done or closed"
    return None


def may_name(policy: Policy, *, open_to_readers: bool) -> bool:
    """Tell whether a text about a card may name an issue that its readers may, or may not, all read."""
    return open_to_readers or policy.board.private_issues == "named"


def _list_abandoned(snapshot: Snapshot) -> list[LinkRow]:
    return [link for link in snapshot.blockers if link.holds and link.state != "open"]


def _name(snapshot: Snapshot, issue: LinkRow) -> str:
    """Return #12, owner/repository#12 of another repository, or nothing for one out of sight."""
    if not issue.repository:
        return ""
    return f"{'' if issue.repository == snapshot.repository else issue.repository}#{issue.number}"


def _may_name(policy: Policy, snapshot: Snapshot, issue: LinkRow) -> bool:
    return may_name(policy, open_to_readers=is_open(issue.repository, issue.public, snapshot.places))


def _label(policy: Policy, snapshot: Snapshot, issue: LinkRow) -> str:
    return _name(snapshot, issue) if _may_name(policy, snapshot, issue) else ELSEWHERE


def _name_blockers(policy: Policy, snapshot: Snapshot, issues: Sequence[LinkRow]) -> str:
    known = [(_name(snapshot, link), link) for link in issues if link.repository]
    seen = [(name, link.title) for name, link in known if _may_name(policy, snapshot, link)]
    names = [f"{name} ({plain(title, 60)})" if title else name for name, title in seen]
    more = len(names) - MAX_NAMED
    named = ", ".join(names[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
    private, unseen = len(known) - len(seen), len(issues) - len(known)
    elsewhere = ELSEWHERE if private == 1 else f"{private} issues in other repositories"
    hidden = f"{count(unseen, 'issue')} that Cardinal cannot see"
    return " and ".join(filter(None, (named, elsewhere if private else "", hidden if unseen else "")))


def ask_about_blockers(policy: Policy, snapshot: Snapshot, run_id: RunId) -> Decision:
    """Ask people, as a comment that notifies, where the run cannot start without them."""
    held, about_part = why_waiting(policy, snapshot), _ask_about_part(policy, snapshot)
    if held is None or held[0] is not CardState.NEEDS_INPUT:
        return about_part
    # The key stands in the comment, too.
    links = snapshot.circle or _list_abandoned(snapshot)
    about = "-".join(_label(policy, snapshot, link) for link in links)[:300]
    say = Say(snapshot.card_id, f"depends:{run_id}:{about}", sentence(f"{run_id} is {held[1]}"))
    return Decision((say,), (f"{run_id} needs a decision about what it is waiting for",)) + about_part


def asks_about_part(question: QuestionRow | None) -> bool:
    """Tell whether the open question is about a sub-issue that failed."""
    return question is not None and subject_of(question) is Subject.PART


def _ask_about_part(policy: Policy, snapshot: Snapshot) -> Decision:
    """Ask about one sub-issue that failed or was cancelled, once for each; settle a question that is over."""
    run = snapshot.run
    if run is None:
        return Decision()
    settled, waits = Decision(), snapshot.question
    if waits is not None:
        if not asks_about_part(waits) or waits.part in {it.run.run_id for it in snapshot.failed_parts}:
            return Decision()
        over = "No answer is needed anymore."
        answer = answer_question(waits, by=BY_ITSELF, text=over, code=Code.WORDS)
        settled = Decision((answer,), (f"{waits.question_id} is over",))
    # A question that was over by itself is open again with its cause: a sub-issue closed and reopened.
    known = {question.part for question in snapshot.questions if question.answered_by != BY_ITSELF}
    failed = next((it for it in snapshot.failed_parts if it.run.run_id not in known), None)
    if failed is None:
        return settled
    said = failed.run.detail if _may_name(policy, snapshot, failed.issue) else ""
    why = f": {sentence(plain(said, 300))}" if said else "."
    which = _name_blockers(policy, snapshot, [failed.issue])
    what = "was cancelled" if failed.run.ending is Ending.CANCELLED else "failed"
    text = f"The sub-issue {which} {what}{why} Continue without it, or stop {run.run_id}?"
    choices = (GO_WITHOUT, *((RETRY_PART,) if failed.is_here else ()), STOP)
    question = of_rules(run.run_id, run.questions, Subject.PART, text, choices, part=failed.run.run_id)
    return settled + Decision((question,), (text,))
