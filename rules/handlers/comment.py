"""Comments on a card: answers, messages to agent or assistant, and comments that wait for a release."""

from datetime import datetime

from ledger.events.conversation import AssistantFailed, AssistantReplied, PersonSaid
from ledger.events.run import RunSteered
from ledger.model.limit_answers import Subject, subject_of
from ledger.states import RUN_HELD, CardState, RunState
from rules.card.state import change_state, derive_state
from rules.card.trigger import time_stamp, was_before
from rules.chatops import replies
from rules.chatops.parser import parse, refusal_to_answer
from rules.handlers.task import begin_run
from rules.intents.outbound import AskAssistant, Decision, Say
from rules.policy.model import Policy
from rules.snapshot import OpenQuestion, RunSeen, Snapshot
from rules.text import code, plain


def said(policy: Policy, snapshot: Snapshot, event: PersonSaid, now: datetime) -> Decision:
    """Take a trusted comment as an answer, a word to the assistant or to the running agent."""
    if snapshot.archived or not event.text.strip():
        return Decision((), ("nothing to answer",))
    if event.command or parse(event.text) is not None:
        return Decision((), ("a command is no conversation",))
    if not event.trusted:
        return _untrusted(snapshot, event)
    if event.place == "review":
        return Decision((), ("a comment on a line belongs to its review",))
    return deliver(policy, snapshot, event)


def deliver(policy: Policy, snapshot: Snapshot, event: PersonSaid) -> Decision:
    """Deliver trusted words to a run, its question, or the planning assistant."""
    run, first = snapshot.run, replies.beaten_by(snapshot.run, event.author, event.said_at)
    if run and first and not _answers(run.question, event):
        text = replies.beaten(run, first, "your comment was not handed to the agent")
        about = f"late:{first.question_id}:{event.comment_id}"
        return Decision((Say(snapshot.card_id, about, text, _side(event)),), (text,))
    if snapshot.live_run:
        return _to_run(policy, snapshot, snapshot.live_run, event)
    planned = policy.archetype(snapshot.column).HAS_ASSISTANT and event.place in ("issue", "pull")
    if planned and event.comment_id > snapshot.last_answered:
        newest = max(event.comment_id, snapshot.last_said)  # comments come in any order
        request = Decision((AskAssistant(snapshot.card_id, newest),), ("the assistant answers",))
        return (
            request + derive_state(policy, snapshot) if snapshot.state is CardState.NEEDS_INPUT else request
        )
    return Decision((), ("nobody listens in this column",))


def replied(policy: Policy, snapshot: Snapshot, event: AssistantReplied, now: datetime) -> Decision:
    """Post the assistant's answer; messages that came meanwhile are answered next."""
    card = snapshot.card_id
    posted = Decision((Say(card, f"assistant:{event.answers}", event.text),), ("the assistant replied",))
    if not policy.archetype(snapshot.column).HAS_ASSISTANT or snapshot.live_run:
        return posted
    if snapshot.last_said > max(event.answers, snapshot.last_answered):
        return posted + Decision((AskAssistant(card, snapshot.last_said),), ("more was said meanwhile",))
    return posted + derive_state(policy, snapshot)


def assistant_failed(policy: Policy, snapshot: Snapshot, event: AssistantFailed, now: datetime) -> Decision:
    """Say on the card that nobody answered, and why."""
    because = f"the assistant could not answer: {plain(event.because, 200)}"
    posted = Decision(
        (Say(snapshot.card_id, f"failed:{plain(event.what, 60)}:{time_stamp(now)}", because),), (because,)
    )
    posted += begin_run(policy, snapshot, event.rule, now)
    if not policy.archetype(snapshot.column).HAS_ASSISTANT:
        return posted
    return posted + change_state(policy, snapshot, CardState.BLOCKED, because)


def _untrusted(snapshot: Snapshot, event: PersonSaid) -> Decision:
    run = snapshot.live_run
    because = ("a comment by somebody without write access steers nothing",)
    if run is None:
        return Decision((), because)
    if run.question is None:
        text = (
            f"{run.run_id} does not hear {code(event.author, 40)}, who has no write access here: the comment"
            " is held. `/cardinal ok`, by somebody who has, hands it to the agent."
        )
        # Once a run: each comment is a mail to many, and anybody can write.
        return Decision((Say(snapshot.card_id, f"held:{run.run_id}", text, _side(event)),), because)
    text = "Thank you. This question waits for an answer by somebody with write access."
    text += " `/cardinal ok` lets a comment of others count as one."
    return Decision((Say(snapshot.card_id, f"untrusted:{run.question.question_id}", text),), because)


def _side(event: PersonSaid) -> str:
    return "issue" if event.place == "issue" else "pull"


def _answer(
    policy: Policy, snapshot: Snapshot, run: RunSeen, question: OpenQuestion, event: PersonSaid
) -> Decision:
    refused = refusal_to_answer(policy, subject_of(question), role=event.role or "write", login=event.author)
    if not refused:
        return replies.answer(snapshot, run, question, event.author, event.text)
    about = f"refused:{question.question_id}:{event.author}"
    return Decision((Say(snapshot.card_id, about, refused),), (refused,))


def _to_run(policy: Policy, snapshot: Snapshot, run: RunSeen, event: PersonSaid) -> Decision:
    card, question = snapshot.card_id, run.question
    if question and _answers(question, event):
        if not replies.is_undecided(question, event.text):
            return _answer(policy, snapshot, run, question, event)
        text = f"{run.run_id} waits for a choice ({replies.numbers(question)}): tick one, or reply with its"
        text += " number. Other words decide nothing here; its agent reads them when it goes on."
        return Decision((Say(card, f"choose:{question.question_id}", text),)) + steer(snapshot, run, event)
    if run.state is RunState.AWAITING_APPROVAL:
        text = "The plan still waits: `/cardinal approve`, or `/cardinal redirect <text>` to change it."
        about = f"approve:{run.run_id}:{run.plan_revision}"
        return Decision((Say(card, about, text),), ("a plain comment neither approves nor redirects",))
    return steer(snapshot, run, event)


def _answers(question: OpenQuestion | None, event: PersonSaid) -> bool:
    """Tell whether a comment can answer the question: it came later, and leaving takes a choice instead."""
    if question is None or subject_of(question) is Subject.LEAVING:
        return False
    return not was_before(event.said_at, question.asked_at)


def steer(snapshot: Snapshot, run: RunSeen, event: PersonSaid) -> Decision:
    """Hand the words to the run's agent, as an answer to nothing."""
    if run.state in RUN_HELD or run.session_id:
        steer = RunSteered(run.run_id, event.author, event.text, event.comment_id)
        return Decision((steer,), (f"{run.run_id} reads it at its next step",))
    return Decision((), (f"{run.run_id} has not begun: it reads the conversation when it does",))
