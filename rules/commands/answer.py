"""Answer the open question, with words or with the number of a choice."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from rules import replies
from rules.command_line import chosen_question, refusal_to_answer
from rules.intents import Decision
from rules.leaving import ASKER
from rules.occasion import was_before
from rules.policy import Policy
from rules.roles import Role
from rules.snapshot import OpenQuestion, RunSeen, Snapshot

USAGE = "/cardinal answer <text or number>"
ROLE = Role.WRITE
TAKES = "text"


def obey(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Record the answer and let the same session go on."""
    run = snapshot.live_run
    question = _meant(run, given) if run else None
    if replies.is_stale_choice(given, question):
        return replies.say(
            snapshot, given, "That question is not open any more, so the choice changed nothing."
        )
    if run is None or question is None:
        return replies.say(
            snapshot, given, "No question is open on this card. `/cardinal status` says how it stands."
        )
    if was_before(given.said_at, question.asked_at):
        return replies.say(
            snapshot, given, "That was written before the question was asked: please answer it again."
        )
    refused = refusal_to_answer(policy, question.asker, role=given.role, login=given.by)
    if refused:
        return replies.say(snapshot, given, refused)
    picked = replies.chosen(question, given.argument)
    by_number = bool(given.source.startswith("box:"))
    if question.choices and picked not in question.choices and (by_number or question.asker == ASKER):
        numbers = f"1 to {len(question.choices)}"
        return replies.say(snapshot, given, f"Please choose a number from {numbers}: `/cardinal answer 1`.")
    return replies.answer(snapshot, run, question, given.by, given.argument)


def _meant(run: RunSeen, given: CommandGiven) -> OpenQuestion | None:
    """Return the question that a ticked choice belongs to, else the newest one that is open."""
    behind = run.behind
    return behind if behind and chosen_question(given.source) == behind.question_id else run.question
