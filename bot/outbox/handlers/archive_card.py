"""Archives the card's item on the board, or brings it back."""

from sqlalchemy import Connection

from bot.github.api import projects
from bot.outbox.contract import Act, ActResult, DeclinedError
from bot.outbox.targets import current_card
from bot.state import snapshots
from bot.state.outbox_context import OutboxContext
from ledger.event import Event
from ledger.events.board import CardArchived, CardRestored
from ledger.queue.outbox import Entry
from ledger.views import cards
from rules.intents.by_command import ArchiveCard

ACT = Act("archive:{card_id}:{about}", ordered=True)


def carry_out(context: OutboxContext, intent: ArchiveCard, _entry: Entry) -> ActResult:
    """Archive it, or bring it back; its own webhook is about nothing new then."""
    card = current_card(context, intent.card_id)
    if card.archived == intent.wanted:
        return ActResult()
    if intent.wanted:
        _require_free(context, intent)
    projects.set_archived(context.hub, card.board_id, card.card_id, intent.wanted)

    def events(db: Connection) -> tuple[Event, ...]:
        fresh = cards.get(db, intent.card_id)
        if fresh is None or fresh.archived == intent.wanted:  # the webhook was first
            return ()
        if intent.wanted:
            return (CardArchived(intent.card_id, "archived", intent.by, intent.role),)
        return (CardRestored(intent.card_id, intent.by, intent.role),)

    return ActResult(card.card_id, events=events)


def _require_free(context: OutboxContext, intent: ArchiveCard) -> None:
    """Raise GivenUpError where a run or a pull request of the card began after the command."""
    with context.reading() as db:
        card = snapshots.of_card(db, intent.card_id)
    if card is not None and (run := card.live_run):
        raise DeclinedError(
            f"{run.run_id} lives by now: `/cardinal cancel` first, or archive it on the board"
        )
    if card is not None and (pull := card.open_pull):
        raise DeclinedError(f"pull request #{pull.number} is open by now: merge or close it first")
