"""Runs one `ai_task` rule of a column; the answer is an event, which the rules have posted and obeyed."""

from sqlalchemy import Connection

from bot.outbox import assistant
from bot.outbox.contract import Act, ActResult, GivenUpError
from bot.outbox.targets import read_row
from bot.render import assistant_prompt
from bot.render.markdown.marker import text_digest
from bot.state.outbox_context import OutboxContext
from ledger.event import Event
from ledger.events.conversation import AssistantFailed
from ledger.queue.outbox import Entry
from ledger.views import expansions, messages
from rules.card import task_answer
from rules.intents.outbound import RunTask

# One call per occasion.
ACT = Act("task:{card_id}:{rule}:{occasion}", lane="assist")


def carry_out(context: OutboxContext, intent: RunTask, entry: Entry) -> ActResult:
    """Run the rule's prompt over the card once."""
    with context.reading() as db:
        card = read_row(db, intent.card_id)
        recent = messages.newest(db, card.card_id, assistant.MAX_MESSAGES)
    column = context.policy(card.board_id).column(intent.rule.rsplit("/", 2)[0])  # its name may have a slash
    if column is None:
        return ActResult()
    assistant.require_allowed(context, card)
    trust = assistant.trust_of(context, card)
    prompt = assistant_prompt.task(
        card,
        recent,
        intent.prompt,
        instructions=column.instructions,
        trust=trust,
        form=task_answer.form(intent),
    )
    try:
        asked = column.model_copy(update={"model": intent.model or column.model})
        answer = assistant.ask_model(context, entry, asked, prompt)
    except GivenUpError as error:
        return assistant.failure(card.card_id, f"the rule {intent.rule}", error.because, intent.rule)

    paid = assistant.meter_call(card.card_id, answer, card.mover)
    try:
        result: Event = task_answer.read(intent, answer.text, replaces=expansions.digest(card.body))
    except task_answer.TaskAnswerError as error:
        result = AssistantFailed(card.card_id, f"the rule {intent.rule}", str(error), intent.rule)

    def events(_: Connection) -> tuple[Event, ...]:
        return (paid, result)

    return ActResult("", text_digest(answer.text), events)
