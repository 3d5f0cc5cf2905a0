"""`cardinal board`: the board as Cardinal sees it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count

import click
from sqlalchemy import Connection

from bot.cli import _filters, _home
from bot.cli._show import ago, clean, json_option, show, table
from bot.state import card_filters, loads
from bot.system.clock import utc_now
from ledger.ids import BoardId, RunId
from ledger.queries import cards, run_queue
from ledger.queries.card_filter import CardFilter
from ledger.queries.cards import CardLine
from ledger.rows.stops import StopRow
from ledger.views import boards, stops
from ledger.views.boards import BoardRow
from rules.runs.limits_in_use import LimitInUse
from rules.text import state_word

MAX_QUEUED = 50  # of one column
HEADS = ("card", "state", "run", "title", "why")


@dataclass(frozen=True, slots=True)
class BoardStory:
    """A board with the cards of each column from top to bottom, its kill switches, limits and queues."""

    board: str
    title: str
    stops: tuple[StopRow, ...]
    limits: tuple[LimitInUse, ...]
    columns: Mapping[str, Sequence[CardLine]]
    queues: Mapping[str, Sequence["QueuePlace"]]


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """A queued run and its place in its column; None while its card waits for another issue."""

    place: int | None
    run_id: RunId
    card: str
    queued_at: datetime
    because: str


READS = True


@click.command("board")
@click.option("--column", help="Only this column.")
@_filters.filter_options
@json_option
def command(column: str | None, as_json: bool, **given: str | None) -> None:
    """Print the columns with their cards.

    Each card is shown with its state and why it is waiting. Cards that need someone come first in their
    column. Below are the queues, with the reason each run is waiting.

    \b
    Examples:
      cardinal board
      cardinal board --column Review --label bug
    """
    now = utc_now()
    with _home.open_for_reading() as db:
        listed = boards.all_boards(db)
        names = dict.fromkeys(known.name for board in listed for known in board.columns)
        if column is not None and column not in names:
            raise card_filters.unknown_word("column", column, names)
        wanted = _filters.read(db, given)
        stories = [_board(db, board, column, wanted, now) for board in listed]
    show(stories, as_json=as_json, text=lambda: _text(stories, now))


def _board(
    db: Connection, board: BoardRow, column: str | None, wanted: CardFilter, now: datetime
) -> BoardStory:
    names = [known.name for known in board.columns if column in (None, known.name)]
    by_column: dict[str, list[CardLine]] = {name: [] for name in names}
    for card in cards.lines(db, board.board_id, None if column is None else tuple(names), wanted):
        by_column.setdefault(card.column or "", []).append(card)
    stopped, limits = stops.of_board(db, board.board_id), loads.limits(db, board.board_id, now)
    queues = {name: _places(db, board.board_id, name, by_column[name]) for name in names}
    return BoardStory(board.address, board.title, stopped, limits, by_column, queues)


def _places(db: Connection, board_id: BoardId, column: str, listed: Sequence[CardLine]) -> list[QueuePlace]:
    """Return the places of listed cards at the head of a column's queue."""
    places, numbers, wanted = list[QueuePlace](), count(1), {card.card_id for card in listed}
    for it in run_queue.queued_in_column(db, board_id, column, MAX_QUEUED):
        name = f"{it.repository}#{it.number}" if it.number else it.title
        place = next(numbers) if it.in_line else None
        if it.card_id in wanted:
            places.append(QueuePlace(place, it.run_id, name, it.queued_at, it.because))
    return places


def _text(stories: Sequence[BoardStory], now: datetime) -> Iterable[str]:
    if not stories:
        yield "no boards yet: `cardinal doctor` says why"
    elif away := _home.absence():
        yield away
    for board in stories:
        yield f"{board.board}  {clean(board.title)}"
        for stop in board.stops:
            why = f": {clean(stop.because)}" if stop.because else ""
            yield f"stopped: {stop.scope} {clean(stop.target)} by {clean(stop.by)}, {ago(stop.at, now)}{why}"
        for limit in board.limits:
            used, allowed = loads.figures(limit)
            place, reached = limit.place or "the board", " (reached)" if limit.is_reached else ""
            yield f"in use: {used} of {allowed}{reached} for {clean(place)}: {limit.meaning}"
        for name, listed in board.columns.items():
            yield ""
            yield f"{clean(name) or 'no column'} ({len(listed)})"
            if listed:
                rows = (
                    (_home.name_of(card), state_word(card.state), card.run_id, card.title, card.because)
                    for card in listed
                )
                yield from table(HEADS, rows, empty="")
            for it in board.queues.get(name, ()):
                place = f"queue {it.place}" if it.place else "not queued"
                because = clean(it.because) or "next in line for a free worker"
                yield f"  {place}: {clean(it.card)} {it.run_id}, queued {ago(it.queued_at, now)}: {because}"
