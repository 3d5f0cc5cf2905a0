"""Failed and held acts, undecided events: their meaning for the card, with the next step."""

from datetime import datetime

from ledger.events.board import DecisionFailed
from ledger.events.publication import EntryGivenUp, EntryHeld
from ledger.ids import RunId
from ledger.states import CardState
from rules.answers import answers
from rules.card.state import derive
from rules.card.trigger import time_stamp
from rules.handlers import check_buttons
from rules.intents.internal import show_card, show_sentence
from rules.intents.outbound import Decision, Say, WriteRunComment
from rules.policy.model import Policy
from rules.snapshot import Snapshot
from rules.text import plain, sentence

# Without these the card cannot go on; a comment or a field that could not be written only says so.
_NEEDED = {
    "mergepull": "the pull request could not be merged",
    "openpull": "the pull request could not be opened",
    "convertdraft": "the draft could not be turned into an issue",
    "markready": "the pull request could not leave draft",
    "movecard": "the card could not be moved",
}

# What a rule of the policy or a person wants: the card says that it did not come about.
_WANTED = {
    "add_labels": "the labels that a rule chose could not be set",
    "expand_body": "the description that a rule wrote out was not put in place",
    "restore_body": "the description that people wrote was not brought back",
    "fill_field": "the field that a rule fills could not be written",
    "archive_card": "the card was not archived or brought back",
    "unlink_card": "the dependency was not removed",
    "move_card": "the card was not moved",
    "change_assignees": "not everyone could be assigned or unassigned",
    "link_card": "the dependency was not made",
    "cancel_merge": "GitHub's own merge of the pull request could not be cancelled",
    "close_pull": "the pull request could not be closed",
    "supersede_pull": "the pull request that another one replaces could not be closed",
    "delete_branch": "the branch could not be deleted",
}

# What people would have read, and where it is instead.
_POSTED = {
    "post_plan": "the plan could not be posted or edited; the run's page has it, and `/cardinal approve` or "
    "`/cardinal redirect` answers it",
    "post_question": "the question could not be posted or edited; the run's page has it, and a plain comment "
    "answers it",
    "write_findings": "the findings could not be posted; the run's page has them",
    "write_run_comment": "the run's comment could not be written; its page has the same",
    "answer_thread": "the answer to a review thread could not be posted",
    "write_check": "the check on the pull request's commit could not be written",
    "check_group": "the check on the merge queue's commit could not be written",
    "update_pull": "the pull request's description could not be brought up to date",
    "post_report": "the report could not be posted; the run's page has it",
    "create_card": "a new card could not be made",
    "ask_assistant": "the planning assistant could not answer",
    "run_task": "the model of a rule could not be asked",
    "say": "a comment could not be posted",
}


@answers(EntryGivenUp, reads=("findings", "made", "proposed"))
def block_given_up(policy: Policy, snapshot: Snapshot, event: EntryGivenUp, now: datetime) -> Decision:
    """Block the card where the act was needed; else leave it as it is, the act is in the log."""
    if event.act == "create_card" and not snapshot.archived:
        return _unmade(snapshot, event, now)
    if event.act == "link_card" and not snapshot.archived:
        return _tell_unlinked(snapshot, event)
    if event.act == "post_report" and not snapshot.archived:  # then the run's own comment says why it ended
        return Decision((WriteRunComment(snapshot.card_id, RunId(event.key.removeprefix("report:"))),))
    if event.act in _POSTED and not (snapshot.archived or snapshot.is_draft):
        return _tell(snapshot, event, "given-up", _POSTED[event.act])
    if _is_wanted(event) and (not snapshot.archived or event.act in ("archive_card", "move_card")):
        text = f"{_WANTED[event.act]}: {plain(event.because, 300)}"
        return Decision((Say(snapshot.card_id, f"given-up:{time_stamp(now)}", sentence(text)),), (text,))
    failed = _NEEDED.get(event.act.replace("_", "").lower())
    if failed is None or snapshot.archived:
        return Decision((), (f"{plain(event.act, 40)} was given up: {plain(event.because, 160)}",))
    because = f"{failed}: {plain(event.because, 200)}"
    if _is_overtaken(policy, snapshot, event.act):
        return show_card() + Decision((), (f"{because}; that is overtaken",))
    if snapshot.live_run:
        # The run's own state is the truer one; the sentence is shown beside it.
        return show_sentence(because)
    # Nobody looks at a card in its last column again: the comment calls for somebody.
    notice = Say(snapshot.card_id, f"given-up:{time_stamp(now)}", sentence(because))
    blocked = show_card(CardState.BLOCKED, because) + Decision((notice,))
    return blocked + check_buttons.check(snapshot)  # with a button for another attempt


@answers(EntryHeld)
def still_refused(policy: Policy, snapshot: Snapshot, event: EntryHeld, now: datetime) -> Decision:
    """Say on the card that people wait for the act, and why, until it is done; it is tried by itself."""
    what = _NEEDED.get(event.act.replace("_", "")) or _WANTED.get(event.act) or _POSTED.get(event.act)
    if what is None or snapshot.archived:
        return Decision((), (f"{plain(event.act, 40)} is held: {plain(event.because, 160)}",))
    if not event.because:
        return show_card()
    return _tell(snapshot, event, "held", f"so far {what}")


def _tell(snapshot: Snapshot, event: EntryGivenUp | EntryHeld, kind: str, what: str) -> Decision:
    """Show the failure on the card's face, and say it once, unless a comment is the act that failed."""
    text = sentence(f"{what}: {plain(event.because, 300)}")
    notice = Say(snapshot.card_id, f"{kind}:{event.key}", text)
    return show_sentence(plain(text, 300)) + Decision(() if event.act == "say" else (notice,))


def _is_overtaken(policy: Policy, snapshot: Snapshot, act: str) -> bool:
    """Return whether people have done something since, so that the card needs the act no more."""
    pull = snapshot.open_pull
    match act.replace("_", "").lower():
        case "mergepull":
            return pull is None or snapshot.given_up
        case "openpull":
            return pull is not None
        case "convertdraft":
            return not snapshot.is_draft
        case "markready":
            if pull is None or not pull.draft or snapshot.live_check:
                return True  # the check takes it out of draft, or says why not
            derived = derive(policy, snapshot)
            return derived is not None and derived.state is CardState.CHANGES_REQUESTED
        case _:
            return False


def _is_wanted(event: EntryGivenUp) -> bool:
    """Return whether only somebody wanted it: of moves, those of a command; others the card needs."""
    return event.act in _WANTED and (event.act != "move_card" or ":command:" in event.key)


def _unmade(snapshot: Snapshot, event: EntryGivenUp, now: datetime) -> Decision:
    """Report a card that a person or an agent wanted and that could not be made, and how to try again."""
    because = f"{plain(event.key, 40)} was given up: {plain(event.because, 160)}"
    about, (run_id, _, number) = f"given-up:{time_stamp(now)}", event.key.removeprefix("card:").partition(":")
    proposed, findings = snapshot.proposed, snapshot.findings
    known = range(1, len(findings.follow_ups) + 1) if findings and findings.run_id == run_id else ()
    if proposed is not None:
        text = (
            f"The card that {proposed.run_id} proposed in {proposed.repository} could not be made as agreed"
        )
        text = sentence(f"{text}: {plain(event.because, 300)}")
    elif number in map(str, known):
        text = f"Follow-up {number} of {run_id} could not be made: {plain(event.because, 200)}. "
        text += f"`/cardinal follow-up {run_id}:{number}` tries again."
    else:
        about = f"given-up:{event.key}"  # of one run several cards can be given up in the same moment
        text = f"A card that {run_id} asked for could not be made: {plain(event.because, 300)}. "
        text += f"`cardinal replay --acts {event.key}` tries again."
    return Decision((Say(snapshot.card_id, about, text),), (because,))


def _tell_unlinked(snapshot: Snapshot, event: EntryGivenUp) -> Decision:
    """Say once for a run or a command that a dependency which it wanted could not be made."""
    _, asker, _, target = event.key.split(":", 3)
    who = "Someone" if asker.startswith("command") else asker
    said = f"{who} wanted a dependency with {plain(target, 150)}, and it was not made: "
    notice = Say(snapshot.card_id, f"unlinked:{asker}", sentence(said + plain(event.because, 300)))
    return Decision((notice,), (f"{plain(event.key, 160)} was given up",))


@answers(DecisionFailed)
def tell_undecided(policy: Policy, snapshot: Snapshot, event: DecisionFailed, now: datetime) -> Decision:
    """Say on the card that something about it was passed by."""
    error = plain(event.because.partition(":")[0], 60)
    because = f"Cardinal failed at event {event.seq} ({error}): please report this"
    return show_sentence(because)
