"""Sentences that answer a command, and the few decisions that several commands share."""

from ledger.events.conversation import CommandGiven
from ledger.states import RunState
from rules.command_line import chosen_question
from rules.intents import Decision, Intent, Say
from rules.inward import AnswerQuestion, RequeueRun, StopRun
from rules.leaving import ASKER, CANCEL, FINISH
from rules.occasion import stamp
from rules.snapshot import OpenQuestion, RunSeen, Snapshot


def about(given: CommandGiven) -> str:
    """Return what makes an answer to this command the same comment."""
    if given.source.startswith("box:"):
        # The same box can be ticked again, and be answered otherwise then.
        at = f":{stamp(given.said_at)}" if given.said_at else ""
        return f"command:{given.comment_id}:{given.source}{at}"
    return f"command:{given.comment_id}"


def say(snapshot: Snapshot, given: CommandGiven, text: str) -> Decision:
    """Answer with a comment where the command was given; review threads are answered on the pull request."""
    place = "issue" if given.place == "issue" else "pull"
    return Decision((Say(snapshot.card_id, about(given), text, place),), (text,))


def chosen(question: OpenQuestion, text: str) -> str:
    """Return the choice that a number or its own words pick, else the text as it is."""
    word = text.strip()
    if word.isascii() and word.isdigit() and len(word) < 4 and 1 <= int(word) <= len(question.choices):
        return question.choices[int(word) - 1]
    same = (choice for choice in question.choices if choice.casefold() == word.casefold())
    return next(same, word)


def answer(snapshot: Snapshot, run: RunSeen, question: OpenQuestion, by: str, text: str) -> Decision:
    """Record the answer and let the run go on; one about leaving cancels the run or lets it finish."""
    card, picked = snapshot.card_id, chosen(question, text)
    record = AnswerQuestion(card, run.run_id, question.question_id, by, picked)
    because = (f"{by} answered {question.question_id}",)
    if question.asker == ASKER:
        stop = StopRun(card, run.run_id, "cancel", by, "the card was dragged out")
        return Decision((record, stop) if picked == CANCEL else (record,), because)
    # Not parked yet: its worker still holds it, and parking with an answered question lets it go on.
    go: tuple[Intent, ...] = (
        (RequeueRun(card, run.run_id, "answered"),) if run.state is RunState.PARKED else ()
    )
    return Decision((record, *go), because)


def settle_leaving(snapshot: Snapshot, run: RunSeen, by: str, *, cancel: bool) -> Decision:
    """Close the question about leaving, where it is open, with what was chosen."""
    if run.leaving is None:
        return Decision()
    text = CANCEL if cancel else FINISH
    return Decision((AnswerQuestion(snapshot.card_id, run.run_id, run.leaving.question_id, by, text),))


def is_stale_choice(given: CommandGiven, question: OpenQuestion | None) -> bool:
    """Return whether a ticked choice belongs to another question than the one that is open."""
    asked = chosen_question(given.source)
    return bool(asked) and (question is None or question.question_id != asked)
