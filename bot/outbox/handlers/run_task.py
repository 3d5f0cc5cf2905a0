"""Runs one `ai_task` rule of a column; the answer is an event, which the rules have posted."""

from typing import TYPE_CHECKING

from bot.outbox import assistant
from bot.outbox.contract import ActResult
from ledger.ids import EntryKey
from ledger.queue.outbox import Entry
from rules.intents.outbound import RunTask

if TYPE_CHECKING:
    from bot.github.client import Hub
    from bot.outbox.context import OutboxContext

LANE = "assist"
PRIORITY = 1
ORDERED = False
COALESCE = False
WAIT_S = 0.0


def key(intent: RunTask) -> EntryKey:
    """Return the key: one call for each occasion."""
    return EntryKey(f"task:{intent.card_id}:{intent.rule}:{intent.occasion}")


def carry_out(hub: "Hub", context: "OutboxContext", intent: RunTask, entry: Entry) -> ActResult:
    """Ask the model once."""
    return assistant.run_task(hub, context, intent, entry)
