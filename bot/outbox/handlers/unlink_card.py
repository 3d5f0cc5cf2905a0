"""Removes a dependency of GitHub's own between two cards."""

from bot.github.api import issues
from bot.outbox.contract import Act, ActResult, OutboxContext
from bot.outbox.handlers import link_card
from ledger.queue.outbox import Entry
from rules.intents.by_command import UnlinkCard

ACT = Act("unlink:{card_id}:{about}", ordered=True)


def carry_out(context: OutboxContext, intent: UnlinkCard, entry: Entry) -> ActResult:
    """Remove it."""
    with context.reading() as db:
        blocked, blocking = link_card.ends(db, intent)
    return link_card.change(issues.remove_blocked_by, context, blocked, blocking, entry)
