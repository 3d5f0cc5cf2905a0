"""Trusted words for whoever listens on the card: its run, the run's question, or the planning assistant."""

from datetime import datetime

from ledger.events.conversation import PersonSaid
from ledger.events.run import RunSteered
from ledger.rows.limit_answers import CHOSEN_ONLY, Subject, subject_of
from ledger.rows.questions import QuestionRow
from ledger.rows.runs import RunRow
from ledger.states import RUN_HELD, CardState, RunState
from rules.card.trigger import was_before
from rules.chatops import replies
from rules.chatops.parser import refusal_to_answer
from rules.intents.internal import show_card
from rules.intents.outbound import AskAssistant, Decision, Say
from rules.policy.model import Policy
from rules.snapshot import Snapshot


def deliver(policy: Policy, snapshot: Snapshot, event: PersonSaid, now: datetime) -> Decision:
    """Deliver trusted words to a run, its question, or the planning assistant."""
    run, first = snapshot.run, replies.beaten_by(snapshot, event.author, event.said_at, now)
    if run and first and not _answers(snapshot.question, event, now):
        text = replies.describe_earlier_answer(run, first, "your comment was not handed to the agent")
        about = f"late:{first.question_id}:{event.comment_id}"
        return Decision((Say(snapshot.card_id, about, text, side(event)),), (text,))
    if snapshot.live_run:
        return _to_run(policy, snapshot, snapshot.live_run, event, now)
    planned = snapshot.archetype.HAS_ASSISTANT and event.place in ("issue", "pull")
    if planned and event.comment_id > snapshot.last_answered:
        newest = max(event.comment_id, snapshot.last_said)  # comments come in any order
        request = Decision((AskAssistant(snapshot.card_id, newest),), ("the assistant answers",))
        return request + show_card() if snapshot.state is CardState.NEEDS_INPUT else request
    return Decision((), ("nothing reads comments in this column",))


def steer(run: RunRow, event: PersonSaid) -> Decision:
    """Hand the words to the run's agent, as an answer to nothing."""
    if run.state in RUN_HELD or run.session_id:
        steer = RunSteered(run.run_id, event.author, event.text, event.comment_id)
        return Decision((steer,), (f"{run.run_id} reads it at its next step",))
    return Decision((), (f"{run.run_id} has not started: it reads the conversation when it does",))


def side(event: PersonSaid) -> str:
    """Return where a reply to the words goes: issue or pull."""
    return "issue" if event.place == "issue" else "pull"


def _to_run(policy: Policy, snapshot: Snapshot, run: RunRow, event: PersonSaid, now: datetime) -> Decision:
    card, question = snapshot.card_id, snapshot.question
    if question and _answers(question, event, now):
        if not replies.is_undecided(question, event.text):
            return _answer(policy, snapshot, run, question, event)
        choices = replies.numbers(question)
        if subject_of(question) in CHOSEN_ONLY:
            text = f"{run.run_id} needs a choice ({choices}): tick one, or reply with its number. Other"
            text += " words decide nothing here; its agent reads them when it continues."
        else:
            text = (
                f"{run.run_id} cannot tell which you mean ({choices}), so nothing was decided: tick one, or"
            )
            text += " reply with its number alone. Its agent reads your words when it continues."
        # A person who was not understood is told each time.
        about = f"choose:{question.question_id}:{event.comment_id}"
        return Decision((Say(card, about, text),)) + steer(run, event)
    if run.state is RunState.AWAITING_APPROVAL:
        text = "The plan is still waiting: `/cardinal approve`, or `/cardinal redirect <text>` to change it."
        about = f"approve:{run.run_id}:{run.plan_revision}"
        return Decision((Say(card, about, text),), ("a plain comment neither approves nor redirects",))
    return steer(run, event)


def _answer(
    policy: Policy, snapshot: Snapshot, run: RunRow, question: QuestionRow, event: PersonSaid
) -> Decision:
    refused = refusal_to_answer(policy, subject_of(question), role=event.role or "write", login=event.author)
    if not refused:
        return replies.answer(run, question, event.author, event.text)
    about = f"refused:{question.question_id}:{event.author}"
    return Decision((Say(snapshot.card_id, about, refused),), (refused,))


def _answers(question: QuestionRow | None, event: PersonSaid, now: datetime) -> bool:
    """Tell whether a comment can answer the question: it came later, and leaving takes a choice instead."""
    if question is None or subject_of(question) is Subject.LEAVING:
        return False
    return not was_before(event.said_at, question.asked_at, now)
