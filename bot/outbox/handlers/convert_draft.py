"""Converts a draft issue into an issue, because it needs a conversation."""

from sqlalchemy import Connection

from bot.github.api import projects as board
from bot.github.errors import NotFoundError, RefusedError
from bot.outbox.contract import Act, ActResult, GivenUpError
from bot.outbox.targets import read_row
from bot.state.outbox_context import OutboxContext
from ledger.event import Event
from ledger.events.board import CardConverted
from ledger.queries import cards as card_queries
from ledger.queue.outbox import Entry
from ledger.views import cards
from ledger.views.cards import CardRow
from rules.intents.outbound import ConvertDraft

# A card is converted once.
ACT = Act("convert:{card_id}", ordered=True, coalesce=True)


def carry_out(context: OutboxContext, intent: ConvertDraft, _entry: Entry) -> ActResult:
    """Convert it; an issue or an archived card needs nothing."""
    with context.reading() as db:
        card = read_row(db, intent.card_id)
        if card.number is not None or card.archived:
            return ActResult()
        repository = _repository(db, context, card)
    content_id, number = "", 0
    try:
        made = board.convert_draft(context.hub, card.card_id, repository)
        content_id, repository, number = made.content_id, made.repository, made.number
    except (RefusedError, NotFoundError):
        now = board.read_card(context.hub, card.card_id)
        if now is None or now.number is None or now.repository is None:
            raise
        content_id, repository, number = now.content_id, now.repository, now.number

    def events(db: Connection) -> tuple[Event, ...]:
        fresh = cards.get(db, intent.card_id)
        if fresh is None or fresh.number is not None:
            return ()
        return (CardConverted(intent.card_id, content_id, repository, number),)

    return ActResult(content_id, repository, events)


def _repository(db: Connection, context: OutboxContext, card: CardRow) -> str:
    """Return the issue's repository: by the card's label; else the home, if its issues name their
    repositories; else the one that all other cards of the board have.
    """
    board = context.policy(card.board_id).board
    for label in card.labels:
        if label in board.repositories.labels:
            return board.repositories.labels[label]
    if board.repositories.are_named and board.home:
        return board.home
    there = card_queries.repositories_of(db, card.board_id)
    if len(there) == 1:
        return there[0]
    if not there:
        return context.board.home_repository
    raise GivenUpError(
        "its repository is not clear: convert the draft to an issue of the repository that it is about"
    )
