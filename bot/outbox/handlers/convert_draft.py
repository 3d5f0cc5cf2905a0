"""Makes an issue of a draft issue, because it needs a conversation."""

from dataclasses import replace
from datetime import timedelta

from sqlalchemy import Connection

from bot.github.api import projects as board
from bot.github.api.project_models import CardReading
from bot.github.errors import BEHIND, NotFoundError, PermissionMissingError, RefusedError
from bot.outbox import handlers
from bot.outbox.contract import Act, ActResult, GivenUpError, TooSoonError
from bot.outbox.new_cards import find_issue, make_issue
from bot.outbox.targets import read_row
from bot.render.board.card_fields import FaceField
from bot.render.markdown.escape import COMMENT_LIMIT, cut
from bot.render.markdown.marker import OF_DRAFT, mark
from bot.state.outbox_context import OutboxContext
from ledger.event import Event
from ledger.events.board import CardConverted, CardReplaced, StopLifted, StopOrdered
from ledger.ids import CardId
from ledger.model.column_names import same_column
from ledger.queries import cards as card_queries
from ledger.queue import outbox, refresh_requests
from ledger.queue.outbox import Entry
from ledger.rows.cards import CardRow
from ledger.views import cards, stops
from rules.intents.outbound import ConvertDraft

# A card is converted once.
ACT = Act(f"{OF_DRAFT}{{card_id}}", ordered=True, coalesce=True)
MAX_TITLE = 256  # GitHub refuses issues with longer titles
AGAIN_S = 5


def carry_out(context: OutboxContext, intent: ConvertDraft, entry: Entry) -> ActResult:
    """Convert it; an issue or an archived card needs nothing.

    Where GitHub lets no App convert the draft, a new issue takes its place.
    """
    with context.reading() as db:
        card = read_row(db, intent.card_id)
        if card.number is not None or card.archived:
            return ActResult()
        repository = _repository(db, context, card)
    try:
        draft = board.convert_draft(context.hub, card.card_id, repository)
        return _record_conversion(card, draft.content_id, draft.repository, draft.number)
    except (RefusedError, NotFoundError, PermissionMissingError) as error:
        reading = board.read_card(context.hub, card.card_id)
        if reading is not None and reading.number is not None and reading.repository is not None:
            return _record_conversion(card, reading.content_id, reading.repository, reading.number)
        if isinstance(error, RefusedError):
            raise
        return _replace(context, card, reading, entry, repository)


def _record_conversion(card: CardRow, content_id: str, repository: str, number: int) -> ActResult:
    def events(db: Connection) -> tuple[Event, ...]:
        fresh = cards.get(db, card.card_id)
        if fresh is None or fresh.number is not None:
            return ()
        return (CardConverted(card.card_id, content_id, repository, number),)

    return ActResult(content_id, repository, events)


def _replace(
    context: OutboxContext, card: CardRow, draft: CardReading | None, entry: Entry, repository: str
) -> ActResult:
    """Make an issue with the draft's words, put it where the draft is, and take that away.

    Each step finds the traces of an attempt before this one. `draft` is None once it is away, by such an
    attempt or by a person; then only an issue that has its place already becomes the card.
    """
    # An entry before this one may have made it.
    entry = replace(entry, attempts=entry.attempts + 1, created_at=card.created_at)
    if draft is None:
        issue = find_issue(context, entry, repository)
        if issue is None:
            return ActResult(events=lambda db: _refresh_gone(db, card))
    else:
        _require_still(context, card, draft, entry)
        issue = make_issue(context, entry, repository, *_words(draft, entry), newest=True)
    number, content_id = issue
    hub, board_id = context.hub, card.board_id
    card_id = board.add_card(hub, board_id, content_id)
    if draft is not None:
        board.put_beside(hub, board_id, card.card_id, card_id, without=tuple(FaceField))
        board.delete_card(hub, board_id, card.card_id)
    in_place = draft is not None or _is_in_place(context, card, card_id)

    def events(db: Connection) -> tuple[Event, ...]:
        refresh_requests.add(db, card_id, board_id)
        there = cards.get(db, card_id)
        served = there is not None and there.run_id is not None
        if cards.get(db, card.card_id) is None or served or not in_place:
            return _refresh_gone(db, card)  # its issue is a card of its own
        _readdress(db, context, card.card_id, card_id)
        replaced = CardReplaced(card_id, card.card_id, content_id, repository, number)
        stop = stops.stop_of_card(db, board_id, card.card_id)
        if stop is None:
            return (replaced,)
        event = StopOrdered(
            board_id=board_id,
            scope="card",
            target=card_id,
            by=stop.by,
            because=stop.because,
            claims=stop.claims,
        )
        return (event, replaced, StopLifted(board_id, "card", card.card_id, stop.by))

    return ActResult(content_id, repository, events)


def _is_in_place(context: OutboxContext, card: CardRow, card_id: CardId) -> bool:
    """Tell whether the issue's card is where the draft was; else a person took the draft away, or moved this.

    Raises TooSoonError while GitHub may still show it as of before.
    """
    reading = board.read_card(context.hub, card_id)
    in_place = reading is not None and same_column(reading.column, card.column)
    if reading is None or not (in_place or reading.updated_at <= context.hub.now() - BEHIND):
        raise TooSoonError(
            context.clock() + timedelta(seconds=AGAIN_S), "the issue's card was moved just now"
        )
    return in_place


def _require_still(context: OutboxContext, card: CardRow, draft: CardReading, entry: Entry) -> None:
    """Raise TooSoonError while the ledger does not know where the draft is, or something is done about it."""
    moved = draft.archived or not same_column(draft.column, card.column)
    with context.reading() as db:
        entries = [it for it in outbox.open_of_card(db, card.card_id) if it.holder not in ("", entry.holder)]
    if moved or entries:
        because = "the draft was moved just now" if moved else f"{entries[0].act} is being carried out for it"
        raise TooSoonError(context.clock() + timedelta(seconds=AGAIN_S), because)


def _words(draft: CardReading, entry: Entry) -> tuple[str, str]:
    """Return the issue's title and text: the draft's own, as GitHub's conversion leaves them.

    A title that is too long for an issue stands whole above the text.
    """
    title, text = draft.title, draft.body
    if len(title) > MAX_TITLE:
        title, text = cut(title, MAX_TITLE - 1), f"{title}\n\n{text}"
    if len(mark(text, entry.key)) > COMMENT_LIMIT:
        raise GivenUpError("the draft's text is too long for an issue: shorten it, then drag the card again")
    return title, text


def _refresh_gone(db: Connection, card: CardRow) -> tuple[Event, ...]:
    """Have the ledger see that the draft is no longer there."""
    refresh_requests.add(db, card.card_id, card.board_id)
    return ()


def _readdress(db: Connection, context: OutboxContext, draft: CardId, card_id: CardId) -> None:
    """Have the entries that wait for the draft's conversion carried out for the card as it is now."""
    for waiting in outbox.open_of_card(db, draft):
        intent = handlers.intent_of(waiting)
        outbox.withdraw(db, waiting)
        if not isinstance(intent, ConvertDraft):
            handlers.put_intent(db, replace(intent, card_id=card_id), context.clock())


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
