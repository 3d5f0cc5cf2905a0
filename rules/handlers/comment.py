"""Comments on a card that are no command, and the words of the planning assistant."""

from datetime import datetime

from ledger.events.conversation import AssistantFailed, AssistantReplied, PersonSaid, TaskAnswered
from ledger.states import CardState
from rules.answers import answers
from rules.card.column_actions import last_brief
from rules.card.move_rights import is_dragged
from rules.card.trigger import time_stamp
from rules.chatops import listeners
from rules.chatops.parser import parse
from rules.handlers.card_moved import dragger
from rules.intents.internal import show_card
from rules.intents.outbound import AskAssistant, Decision, Say
from rules.intents.rule_results import AddLabels, ExpandBody, FillField
from rules.policy.model import Policy
from rules.runs.start import start
from rules.snapshot import Snapshot
from rules.text import code, plain


@answers(TaskAnswered)
def post_task_answer(policy: Policy, snapshot: Snapshot, event: TaskAnswered, now: datetime) -> Decision:
    """Post the answer of a rule's model, and set the chosen fields."""
    card, about = snapshot.card_id, f"task:{event.rule}:{time_stamp(now)}"
    said = (Say(card, about, event.text),) if event.text.strip() else ()
    labels = (AddLabels(card, event.labels, about),) if event.labels else ()
    option = (FillField(card, event.field, event.option, about),) if event.option else ()
    body = (ExpandBody(card, event.rule, event.body, event.replaces, about),) if event.body else ()
    set_here = Decision((*said, *labels, *option, *body), (f"{event.rule} was answered",))
    return set_here + begin_run(policy, snapshot, event.rule, now)


def begin_run(policy: Policy, snapshot: Snapshot, rule: str, now: datetime) -> Decision:
    """Start the run that waited for the brief of `rule`, unless the card left or a person started it."""
    column = snapshot.column_policy
    last = last_brief(column.entry_actions) if column is not None else None
    if last is None or rule != f"{snapshot.column}/on_entry/{last}" or snapshot.archived:
        return Decision()
    begun = snapshot.begun and snapshot.moved_at is not None and snapshot.begun[0] >= snapshot.moved_at
    if begun or snapshot.live_run or not is_dragged(policy, snapshot):
        return Decision()
    return start(policy, snapshot, by=dragger(snapshot), now=now)


@answers(PersonSaid)
def serve_comment(policy: Policy, snapshot: Snapshot, event: PersonSaid, now: datetime) -> Decision:
    """Take a trusted comment as an answer, a word to the assistant or to the running agent."""
    if snapshot.archived or not event.text.strip():
        return Decision((), ("nothing to answer",))
    if event.command or parse(event.text) is not None:
        return Decision((), ("a command is no conversation",))
    if not event.trusted:
        return _answer_untrusted(snapshot, event)
    if event.place == "review":
        return Decision((), ("a comment on a line belongs to its review",))
    return listeners.deliver(policy, snapshot, event, now)


@answers(AssistantReplied)
def post_reply(policy: Policy, snapshot: Snapshot, event: AssistantReplied, now: datetime) -> Decision:
    """Post the assistant's answer; messages that came meanwhile are answered next."""
    card = snapshot.card_id
    posted = Decision((Say(card, f"assistant:{event.answers}", event.text),), ("the assistant replied",))
    if not snapshot.archetype.HAS_ASSISTANT or snapshot.live_run:
        return posted
    if snapshot.last_said > max(event.answers, snapshot.last_answered):
        return posted + Decision((AskAssistant(card, snapshot.last_said),), ("more was said meanwhile",))
    return posted + show_card()


@answers(AssistantFailed)
def assistant_failed(policy: Policy, snapshot: Snapshot, event: AssistantFailed, now: datetime) -> Decision:
    """Say on the card that nobody answered, and why."""
    because = f"the assistant could not answer: {plain(event.because, 200)}"
    posted = Decision(
        (Say(snapshot.card_id, f"failed:{plain(event.what, 60)}:{time_stamp(now)}", because),), (because,)
    )
    posted += begin_run(policy, snapshot, event.rule, now)
    if not snapshot.archetype.HAS_ASSISTANT:
        return posted
    return posted + show_card(CardState.BLOCKED, because)


def _answer_untrusted(snapshot: Snapshot, event: PersonSaid) -> Decision:
    run = snapshot.live_run
    because = ("a comment by someone without write access steers nothing",)
    if run is None:
        return Decision((), because)
    if snapshot.question is None:
        text = (
            f"{run.run_id} does not read comments by {code(event.author, 40)}, who has no write access here."
            " Someone who has can pass it on with `/cardinal ok`."
        )
        # Once a run: each comment is a mail to many, and anybody can write.
        return Decision((Say(snapshot.card_id, f"held:{run.run_id}", text, listeners.side(event)),), because)
    text = "Thank you. This question needs an answer by someone with write access."
    text += " `/cardinal ok` lets someone else's comment count as one."
    return Decision((Say(snapshot.card_id, f"untrusted:{snapshot.question.question_id}", text),), because)
