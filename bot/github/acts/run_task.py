"""Runs one `ai_task` rule of a column; the answer is an event, which the rules have posted."""

from typing import TYPE_CHECKING

from bot import assistant
from bot.github.act import Outcome
from ledger.ids import EntryKey
from ledger.outbox import Entry
from rules.intents import RunTask

if TYPE_CHECKING:
    from bot.desk import Desk
    from bot.github.hub import Hub

LANE = "assist"
PRIORITY = 1
ORDERED = False
COALESCE = False
WAIT_S = 0.0


def key(intent: RunTask) -> EntryKey:
    """Return the key: one call for each occasion."""
    return EntryKey(f"task:{intent.card_id}:{intent.rule}:{intent.occasion}")


def carry_out(hub: "Hub", desk: "Desk", intent: RunTask, entry: Entry) -> Outcome:
    """Ask the model once."""
    return assistant.run_task(hub, desk, intent, entry)
