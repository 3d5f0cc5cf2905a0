"""Edits the question's comment to show its answer; the boxes go."""

from typing import TYPE_CHECKING

from bot.outbox.contract import ActResult
from bot.outbox.handlers.post_question import question_key
from bot.outbox.posting import settle
from bot.outbox.targets import card_of, run_of, talk_of_run
from bot.render import question as text
from ledger.ids import EntryKey
from ledger.log import event_store
from ledger.queue.outbox import Entry
from ledger.views import questions
from rules.intents.outbound import SettleQuestion

if TYPE_CHECKING:
    from bot.github.client import Hub
    from bot.outbox.context import OutboxContext

LANE = "github"
PRIORITY = 1
ORDERED = True
COALESCE = False
WAIT_S = 0.0


def key(intent: SettleQuestion) -> EntryKey:
    """Return the key: a question is settled once."""
    return EntryKey(f"question-settled:{intent.question_id}")


def carry_out(hub: "Hub", context: "OutboxContext", intent: SettleQuestion, _entry: Entry) -> ActResult:
    """Edit the question's comment."""
    with event_store.reading(context.engine) as db:
        run = run_of(db, intent.run_id)
        talk = talk_of_run(db, card_of(db, run.card_id), run, context)
        question = questions.get(db, intent.question_id)
    if question is None:
        return ActResult("", "")
    return settle(hub, context, question_key(intent.question_id), talk.repository, text.write(question))
