"""Removes a dependency of GitHub's own between two cards."""

from bot.outbox.contract import Act, ActResult
from bot.outbox.handlers import link_card
from bot.state.outbox_context import OutboxContext
from ledger.queue.outbox import Entry
from rules.intents.by_command import UnlinkCard

ACT = Act("unlink:{card_id}:{about}", ordered=True)


def carry_out(context: OutboxContext, intent: UnlinkCard, _entry: Entry) -> ActResult:
    with context.reading() as db:
        blocked, blocking = link_card.ends(db, intent)
    return link_card.change_dependency(context, blocked, blocking, linked=False)
