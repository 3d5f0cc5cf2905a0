"""Sentences that answer a command, and the few decisions that several commands share."""

from datetime import datetime, timedelta

from ledger.events.conversation import CommandGiven, CommandRefused
from ledger.events.run import RunRequeued, RunStopAsked
from ledger.rows.limit_answers import (
    CANCEL,
    CHOSEN_ONLY,
    FINISH,
    OF_TURN,
    Code,
    Subject,
    answer_question,
    code_of,
    codes_of,
    read,
    subject_of,
)
from ledger.rows.questions import QuestionRow
from ledger.rows.runs import RunRow
from ledger.states import Door, RunState, StopKind
from rules.card.stops import identify_stop
from rules.card.trigger import is_to_come, time_stamp, was_before
from rules.chatops.parser import APART, door_of, question_of_choice, stop_of_page
from rules.intents.outbound import Decision, Say
from rules.snapshot import Snapshot
from rules.text import code, plain

# Answers to questions of the rules, which end the run or change nothing for it.
_ENDS_BY = {
    Subject.LEAVING: (Code.CANCEL, "the card was dragged out"),
    Subject.PART: (Code.STOP, "a sub-issue failed"),
}
STALE_STOP = "That stop has been lifted already. If another one holds, the page shows it."
AT_ONCE = timedelta(seconds=60)  # after an answer: so long it may not be seen yet by somebody who writes


def about(given: CommandGiven) -> str:
    """Return the key under which answers to this command are one comment."""
    if door_of(given.source) == Door.BOX:
        # The same box can be ticked again, and be answered otherwise then.
        at = f":{time_stamp(given.said_at)}" if given.said_at else ""
        return f"command:{given.comment_id}:{given.source}{at}"
    return f"command:{given.comment_id}"


def say(snapshot: Snapshot, given: CommandGiven, text: str, *, is_done: bool = False) -> Decision:
    """Answer with a comment where the command was given; review threads are answered on the pull request.

    `is_done`: what the command asks for is so already.
    """
    told = Say(snapshot.card_id, about(given), text, talk_of(given), is_done=is_done)
    return Decision((told,), (text,))


def talk_of(event: CommandGiven | CommandRefused) -> str:
    """Return where a command is answered, `issue` or `pull`; one from outside GitHub is on the issue."""
    return "issue" if event.place in ("issue", *APART) else "pull"


def find_option(question: QuestionRow, text: str) -> str:
    """Return the choice that a reply names, else its words without the lines of mail."""
    reply = read(question, text)
    return reply.words if reply.choice is None else question.choices[reply.choice]


def answer(run: RunRow, question: QuestionRow, by: str, text: str) -> Decision:
    """Record a written or ticked answer with its meaning, and let the run go on."""
    meant = code_of(question, "", text)
    return record_answer(run, question, by, meant, text=find_option(question, text))


def choose_answer(run: RunRow, question: QuestionRow, by: str, meant: Code) -> Decision:
    """Record a choice that a command of its own made, and let the run go on."""
    labels = dict(zip(codes_of(question), question.choices, strict=False))
    return record_answer(run, question, by, meant, text=labels.get(meant, meant))


def record_answer(run: RunRow, question: QuestionRow, by: str, meant: Code, *, text: str) -> Decision:
    """Record the answer and let the run go on; one of the rules may cancel it."""
    record = answer_question(question, by=by, text=text, code=meant)
    because = (f"{by} answered {question.question_id}",)
    if ends := _ENDS_BY.get(subject_of(question)):
        stop = RunStopAsked(run.run_id, StopKind.CANCEL, by, ends[1])
        return Decision((record, stop) if meant is ends[0] else (record,), because)
    # Not parked yet: its worker still holds it, and parking with an answered question lets it go on.
    go = (RunRequeued(run.run_id, "answered"),) if run.state is RunState.PARKED else ()
    return Decision((record, *go), because)


def is_stale_stop(snapshot: Snapshot, given: CommandGiven) -> bool:
    """Return whether the command's form was about a stop that does not hold any more."""
    shown = stop_of_page(given.source)
    return shown is not None and shown not in map(identify_stop, snapshot.stops)


def is_undecided(question: QuestionRow, text: str) -> bool:
    """Return whether people have to choose: only a choice answers it and none is named, or perhaps one is."""
    reply = read(question, text)
    if subject_of(question) in CHOSEN_ONLY:
        return reply.choice is None
    # What is asked for an agent goes to it in whatever words: those that are no choice permit nothing.
    return reply.unsure and bool(codes_of(question)) and subject_of(question) not in OF_TURN


def numbers(question: QuestionRow) -> str:
    """Return the choices with their numbers, for people."""
    return ", ".join(
        f"{number}: {plain(choice, 100)}" for number, choice in enumerate(question.choices, start=1)
    )


def answer_leaving(snapshot: Snapshot, by: str, *, cancel: bool) -> Decision:
    """Answer the question about leaving, where it is open."""
    if snapshot.leaving is None:
        return Decision()
    picked = CANCEL if cancel else FINISH
    return Decision((answer_question(snapshot.leaving, by=by, text=picked.label, code=picked.code),))


def is_stale_choice(given: CommandGiven, question: QuestionRow | None) -> bool:
    """Return whether a choice of a box or a page belongs to another question than the one that is open."""
    chosen_id = question_of_choice(given.source)
    return bool(chosen_id) and (question is None or question.question_id != chosen_id)


def beaten_by(snapshot: Snapshot, by: str, said_at: datetime | None, now: datetime) -> QuestionRow | None:
    """Return the question that somebody else answered before these words came, and that they were written
    for: after it was asked, and not so late that the answer had to be seen.
    """
    first = snapshot.find_answered()
    if (
        first is None
        or first.answered_at is None
        or said_at is None
        or is_to_come(first.answered_at, now)
        or first.answered_by.casefold() == by.casefold()
    ):
        return None
    meant = not was_before(said_at, first.asked_at, now) and said_at <= first.answered_at + AT_ONCE
    return first if meant else None


def describe_earlier_answer(run: RunRow, first: QuestionRow, what: str) -> str:
    """Return the sentence about the faster answer, and the next step for late words."""
    by, answer = code(first.answered_by, 40), plain(first.answer, 200)
    said = f"{by} answered that question first, with “{answer}”, so {what}."
    if run.alive:
        return f"{said} To send the agent your own words: `/cardinal redirect <text>`."
    return f"{said} {run.run_id} has ended since: `/cardinal retry` starts another run, which reads this."
