"""Posts a comment of the rules: a reply, a refusal, the assistant's words."""

from typing import TYPE_CHECKING

from bot.outbox.contract import ActResult
from bot.outbox.posting import publish
from bot.outbox.targets import card_of, issue_of, pull_of
from bot.render.markdown.escape import fit, tame
from ledger.ids import EntryKey
from ledger.log import event_store
from ledger.queue.outbox import Entry
from rules.intents.outbound import Say

if TYPE_CHECKING:
    from bot.github.client import Hub
    from bot.outbox.context import OutboxContext

LANE = "github"
PRIORITY = 1
ORDERED = True
COALESCE = False
WAIT_S = 0.0


def key(intent: Say) -> EntryKey:
    """Return the key: one comment for what it is about."""
    return EntryKey(f"say:{intent.card_id}:{intent.about}")


def carry_out(hub: "Hub", context: "OutboxContext", intent: Say, entry: Entry) -> ActResult:
    """Post the text, tamed: it may hold words of people or agents."""
    with event_store.reading(context.engine) as db:
        card = card_of(db, intent.card_id)
    pull = pull_of(card) if intent.place != "issue" else None
    return publish(hub, context, entry, pull or issue_of(card, context), fit((tame(intent.text),)))
