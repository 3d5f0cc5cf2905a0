"""Which outbox entries have to wait because what they are about is out of reach."""

from typing import TYPE_CHECKING

from bot.state import snapshots
from ledger.ids import BoardId
from ledger.log import event_store
from ledger.queue.outbox import Entry
from ledger.views import boards
from rules.snapshot import Snapshot

if TYPE_CHECKING:
    from bot.outbox.context import OutboxContext

# They write to the board, which is the organisation's: a repository out of reach does not keep them.
ON_THE_BOARD = frozenset({"update_face", "move_card", "describe_columns", "update_ticker"})
CLOSING = ("uninstalled", "suspended")


def is_closed(context: "OutboxContext") -> bool:
    """Tell whether the App may do nothing at all on any board: it was removed or is suspended."""
    with event_store.reading(context.engine) as db:
        known = boards.all_boards(db)
        lost = {
            board.board_id: any(one.reason in CLOSING for one in snapshots.board_losses(db, board.board_id))
            for board in known
        }
    return bool(known) and all(lost.values())


def is_lost(context: "OutboxContext", entry: Entry) -> bool:
    """Tell whether the entry is about a repository that nothing can be written to."""
    if entry.act in ON_THE_BOARD:
        return False
    card = _card(context, entry)
    return card is not None and any("/" in one.target for one in card.losses)


def is_waiting(context: "OutboxContext", entry: Entry) -> bool:
    """Tell whether a permission that the entry lacks waits for an owner to accept it."""
    with event_store.reading(context.engine) as db:
        card = snapshots.of_card(db, entry.card_id)  # a board's entry has the board's id instead
        board_id = card.board_id if card else BoardId(entry.card_id)
        return any(one.reason == "permissions" for one in snapshots.board_losses(db, board_id))


def _card(context: "OutboxContext", entry: Entry) -> Snapshot | None:
    with event_store.reading(context.engine) as db:
        return snapshots.of_card(db, entry.card_id)
