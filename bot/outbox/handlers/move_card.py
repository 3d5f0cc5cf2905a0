"""Moves the card to a column, by its policy or because it left during a run."""

from sqlalchemy import Connection

from bot.github.api import projects
from bot.outbox.contract import Act, ActResult, DeclinedError, GivenUpError
from bot.outbox.targets import read_row
from bot.state.outbox_context import OutboxContext
from ledger.event import Event
from ledger.events.board import CardMoved
from ledger.model.column_names import same_column
from ledger.queue.outbox import Entry
from ledger.views import boards, cards, runs
from rules.intents.outbound import MoveCard

# One move per `about`.
ACT = Act("move:{card_id}:{about}", ordered=True)


def carry_out(context: OutboxContext, intent: MoveCard, _entry: Entry) -> ActResult:
    """Move the card.

    Raises GivenUpError if the board has no such column, or if a commanded card went elsewhere meanwhile.
    """
    with context.reading() as db:
        card = read_row(db, intent.card_id)
        board = boards.get(db, card.board_id)
    gone = board is None or card.archived
    if board is None or gone or (intent.source and card.column != intent.source):
        if intent.commanded and (gone or not same_column(card.column, intent.column)):
            where = "it left the board" if gone else f"someone moved it to {card.column or 'no column'}"
            raise DeclinedError(f"{where} meanwhile, so it did not go to {intent.column}")
        return ActResult()  # a rule's wish, which somebody overtook; or an earlier try was
    same = (column for column in board.columns if same_column(column.name, intent.column))
    target = next(same, None)  # a policy may spell it otherwise
    if target is None:
        names = ", ".join(column.name for column in board.columns)
        raise GivenUpError(f"the board has no column {intent.column}; it has {names}")
    projects.move_card(context.hub, board.board_id, card.card_id, board.status_field_id, target.option_id)

    def events(db: Connection) -> tuple[Event, ...]:
        fresh = cards.get(db, intent.card_id)
        # The webhook may have been ingested first; a person may have moved the card since.
        if fresh is None or fresh.column != card.column or fresh.column == target.name:
            return ()
        run = runs.get(db, fresh.run_id) if fresh.run_id else None
        by = intent.by or (run.by if run else fresh.mover)
        return (CardMoved(intent.card_id, fresh.column, target.name, by_cardinal=True, by=by),)

    return ActResult(card.card_id, target.name, events)
