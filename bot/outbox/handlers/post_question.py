"""Posts a question as a comment that notifies."""

from typing import TYPE_CHECKING

from bot.outbox.contract import ActResult
from bot.outbox.posting import publish
from bot.outbox.targets import card_of, run_of, talk_of_run
from bot.render import question as text
from ledger.ids import EntryKey, QuestionId
from ledger.log import event_store
from ledger.queue.outbox import Entry
from ledger.views import questions
from rules.intents.outbound import PostQuestion

if TYPE_CHECKING:
    from bot.github.client import Hub
    from bot.outbox.context import OutboxContext

LANE = "github"
PRIORITY = 0
ORDERED = True
COALESCE = False
WAIT_S = 0.0


def key(intent: PostQuestion) -> EntryKey:
    """Return the key: one comment for each question."""
    return question_key(intent.question_id)


def question_key(question_id: QuestionId) -> EntryKey:
    """Return the key under which a question is posted, for the act that settles it."""
    return EntryKey(f"question:{question_id}")


def carry_out(hub: "Hub", context: "OutboxContext", intent: PostQuestion, entry: Entry) -> ActResult:
    """Post the question."""
    with event_store.reading(context.engine) as db:
        run = run_of(db, intent.run_id)
        talk = talk_of_run(db, card_of(db, run.card_id), run, context)
        question = questions.get(db, intent.question_id)
    if question is None:
        return ActResult("", "")
    return publish(hub, context, entry, talk, text.write(question))
