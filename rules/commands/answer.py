"""Answer the open question, with words or with the number of a choice."""

from collections.abc import Iterator
from datetime import datetime

from ledger.events.conversation import CommandGiven
from ledger.rows.limit_answers import CHOSEN_ONLY, subject_of
from ledger.rows.questions import QuestionRow
from ledger.states import Door
from rules.card.trigger import was_before
from rules.chatops import replies
from rules.chatops.offers import MAX_ASKED, CommandOffer, Urgency
from rules.chatops.parser import door_of, question_of_choice, refusal_to_answer
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot
from rules.text import plain

USAGE = "/cardinal answer <text or number>"
ROLE = Role.WRITE
TAKES = "text"


def offers(policy: Policy, snapshot: Snapshot) -> Iterator[CommandOffer]:
    """Offer an answer to each question that waits: its choices, and words where it takes them."""
    for question in filter(None, dict.fromkeys((snapshot.question, snapshot.leaving))):
        name, subject = f"answer:{question.question_id}", subject_of(question)
        text = plain(question.text, MAX_ASKED)
        if question.choices:
            choices = tuple((str(number), plain(it)) for number, it in enumerate(question.choices, start=1))
            yield CommandOffer(name, "Answer", text, Urgency.WAITED_FOR, choices=choices, subject=subject)
        if not question.choices or subject not in CHOSEN_ONLY:
            hint = "Or in your own words" if question.choices else text
            yield CommandOffer(name, "Answer", hint, Urgency.WAITED_FOR, asks="Your answer", subject=subject)


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Record the answer; the same session continues."""
    run = snapshot.live_run
    question = _find_question(snapshot, given) if run else None
    stale = replies.is_stale_choice(given, question)
    if stale or run is None or question is None:
        return replies.say(snapshot, given, _too_late(snapshot, given, stale=stale))
    if was_before(given.said_at, question.asked_at, now):
        return replies.say(
            snapshot, given, "That was written before the question was asked: please answer it again."
        )
    refused = refusal_to_answer(policy, subject_of(question), role=given.role, login=given.by)
    if refused:
        return replies.say(snapshot, given, refused)
    picked, ticked = replies.find_option(question, given.argument), door_of(given.source) == Door.BOX
    if replies.is_undecided(question, given.argument) or (ticked and picked not in question.choices):
        text = f"Please choose a number ({replies.numbers(question)}): `/cardinal answer 1`."
        return replies.say(snapshot, given, text)
    return replies.answer(run, question, given.by, given.argument)


def _too_late(snapshot: Snapshot, given: CommandGiven, *, stale: bool) -> str:
    """Return why the answer changed nothing: who was faster, where somebody was."""
    run, first = snapshot.run, snapshot.find_answered(question_of_choice(given.source))
    meant = first is not None and (not stale or first.question_id == question_of_choice(given.source))
    if run and first and meant and first.answered_by.casefold() != given.by.casefold():
        return replies.describe_earlier_answer(run, first, "your answer changed nothing")
    if stale:
        return "That question is no longer open, so your choice changed nothing."
    return "No question is open on this card. `/cardinal status` says where it is."


def _find_question(snapshot: Snapshot, given: CommandGiven) -> QuestionRow | None:
    """Return the question that a ticked choice belongs to, else the newest one that is open."""
    leaving = snapshot.leaving
    return (
        leaving if leaving and question_of_choice(given.source) == leaving.question_id else snapshot.question
    )
