"""Writes Cardinal's check on the pull request's commit: what the gate saw of it, and the buttons that fit."""

from typing import TYPE_CHECKING

from bot.outbox import gate_check
from bot.outbox.contract import ActResult
from bot.outbox.posting import last_of
from bot.outbox.targets import card_of, pull_of
from bot.render.pull import gate_check as gate
from bot.state import snapshots
from ledger.ids import EntryKey
from ledger.log import event_store
from ledger.queue.outbox import Entry
from rules.handlers import check_buttons
from rules.intents.outbound import WriteCheck

if TYPE_CHECKING:
    from bot.github.client import Hub
    from bot.outbox.context import OutboxContext

LANE = "github"
PRIORITY = 2
ORDERED = False
COALESCE = True
WAIT_S = 0.0


def key(intent: WriteCheck) -> EntryKey:
    """Return the key: one check for each commit of a card."""
    return EntryKey(f"check:{intent.card_id}:{intent.head}")


def carry_out(hub: "Hub", context: "OutboxContext", intent: WriteCheck, entry: Entry) -> ActResult:
    """Write the check as the ledger has it now; a commit that the pull request left behind keeps its own."""
    with event_store.reading(context.engine) as db:
        card = card_of(db, intent.card_id)
        snapshot = snapshots.of_card(db, intent.card_id)
        seen = gate_check.seen_of(db, card, intent.head, context.config.public_url)
    pull = pull_of(card)
    if pull is None or snapshot is None or (card.pull_state, card.pull_head) != ("open", intent.head):
        last = last_of(context, entry.key)
        return ActResult(last.remote_id, last.digest) if last else ActResult("", "")
    says = gate.write(seen, check_buttons.fitting(context.policy(card.board_id), snapshot))
    return gate_check.publish(hub, context, entry, repository=pull.repository, head=intent.head, says=says)
