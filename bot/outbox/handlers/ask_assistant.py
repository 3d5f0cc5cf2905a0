"""Lets the planning assistant answer what was said; its reply is an event, which the rules have posted."""

from typing import TYPE_CHECKING

from bot.outbox import assistant
from bot.outbox.contract import ActResult
from ledger.ids import EntryKey
from ledger.queue.outbox import Entry
from rules.intents.outbound import AskAssistant

if TYPE_CHECKING:
    from bot.github.client import Hub
    from bot.outbox.context import OutboxContext

LANE = "assist"
PRIORITY = 1
ORDERED = False
COALESCE = True
WAIT_S = 0.0


def key(intent: AskAssistant) -> EntryKey:
    """Return the key: one conversation for each card, so that what is said meanwhile is answered together."""
    return EntryKey(f"assistant:{intent.card_id}")


def carry_out(hub: "Hub", context: "OutboxContext", intent: AskAssistant, entry: Entry) -> ActResult:
    """Ask the model once for everything said so far; raises TooSoonError until people have been quiet."""
    return assistant.reply(hub, context, intent, entry)
