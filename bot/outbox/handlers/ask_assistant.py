"""Lets the planning assistant answer a conversation; its reply is an event, which the rules have posted."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import Connection

from bot.outbox import assistant
from bot.outbox.contract import Act, ActResult, GivenUpError, TooSoonError
from bot.outbox.targets import read_row
from bot.render import assistant_prompt
from bot.render.markdown.marker import text_digest
from bot.state.outbox_context import OutboxContext
from ledger.event import Event
from ledger.events.conversation import AssistantReplied
from ledger.queue.outbox import Entry
from ledger.rows.cards import CardRow
from ledger.rows.messages import MessageRow
from ledger.views import cards, messages
from rules.intents.outbound import AskAssistant

# One conversation per card: comments that arrive meanwhile are answered together.
ACT = Act("assistant:{card_id}", lane="assist", coalesce=True)
ASSISTANT = "assistant"  # the place of its own messages


def carry_out(context: OutboxContext, intent: AskAssistant, entry: Entry) -> ActResult:
    """Answer all open messages once people have been quiet for `debounce_s`; TooSoonError before.

    No answer where the card left its planning column or was answered already.
    """
    with context.reading() as db:
        card = read_row(db, intent.card_id)
        recent = messages.newest(db, card.card_id, assistant.MAX_MESSAGES)
    policy = context.policy(card.board_id)
    column = policy.column(card.column)
    if column is None or not policy.archetype(card.column).HAS_ASSISTANT or card.archived:
        return ActResult()
    open_ones = [message for message in recent if _is_open(message)]
    newest = max((message.comment_id for message in open_ones), default=0)
    if _is_answered(newest, card.last_answered, recent):
        return ActResult()
    _wait_for_quiet(context, recent)
    assistant.require_allowed(context, card)
    trust = assistant.trust_of(context, card)
    prompt = assistant_prompt.conversation(card, recent, instructions=column.instructions, trust=trust)
    try:
        answer = assistant.ask_model(context, entry, column, prompt)
    except GivenUpError as error:
        return assistant.failure(card.card_id, "the planning assistant", error.because)
    brief = assistant_prompt.brief_of(answer.text)

    def events(db: Connection) -> tuple[Event, ...]:
        fresh = cards.get(db, card.card_id)
        recent = messages.newest(db, card.card_id, assistant.MAX_MESSAGES)
        if fresh is None or _is_answered(newest, fresh.last_answered, recent):
            return ()
        replied = AssistantReplied(card.card_id, answer.text, brief, newest)
        return (assistant.meter_call(card.card_id, answer, _asker(open_ones, card)), replied)

    return ActResult("", text_digest(f"{newest}:{answer.text}"), events)


def _is_open(message: MessageRow) -> bool:
    """Tell whether the message needs an answer; a command is answered by its effect."""
    free_text = message.place not in (ASSISTANT, "review") and not message.command
    return free_text and (message.trusted or bool(message.vouched_by))


def _asker(open_ones: Sequence[MessageRow], card: CardRow) -> str:
    """Return who said the newest message, or let it through; else who put the card there, or wrote it."""
    last = max(open_ones, key=lambda message: message.comment_id, default=None)
    return (last.vouched_by or last.author) if last is not None else card.mover or card.author


def _is_answered(newest: int, last_answered: int, recent: tuple[MessageRow, ...]) -> bool:
    if newest == 0:
        return any(message.place == ASSISTANT for message in recent)
    return last_answered >= newest


def _wait_for_quiet(context: OutboxContext, recent: tuple[MessageRow, ...]) -> None:
    last = max((message.at for message in recent if _is_open(message)), default=None)
    if last is None:
        return
    due_at = last + timedelta(seconds=context.config.debounce_s)
    if due_at > context.clock():
        raise TooSoonError(due_at, "people are still writing")
