"""Holds of a board's runs: stops, limits in use, and the queue; sums for whoever sees the board whole."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection

from bot.state import loads, policies
from bot.system import program
from bot.web.site.times import when
from bot.web.site.visibility import VisibleBoard, path_of
from ledger.ids import BoardId, CardId
from ledger.model.column_names import same_column
from ledger.queries import run_queue, siblings
from ledger.queue import hosts
from ledger.rows.stops import StopRow
from ledger.views import cards, halts, stalls, stops
from rules.card.stops import LIFTS, describe_halt, stop_words
from rules.runs.queue import without_labels
from rules.text import brief, plain, sentence

MAX_QUEUED = 50  # lines of all columns
MAX_WHY = 240  # characters
MAX_LANE = 20  # cards of one merge lane
NEXT = "next in line for a free worker"
NO_HOST = "No host takes runs: start {workers}, and check `cardinal hosts` for one that is not drained."
STALLED = (
    "Runs have been ready for over a minute and no worker took them: check that workers are running, "
    "then run `cardinal doctor`."
)


@dataclass(frozen=True, slots=True)
class LimitView:
    """A row of the table of limits."""

    meaning: str
    place: str
    used: str
    allowed: str
    is_reached: bool


@dataclass(frozen=True, slots=True)
class QueueView:
    """The queue of a column: of each run its place, card, path, run, wait and reason."""

    column: str
    runs: Sequence[tuple[str, str, str, str, str, str]]
    left_out: int


@dataclass(frozen=True, slots=True)
class LaneOrder:
    """A repository's merge lane: the pull request, name, path and reason of each card, in order."""

    repository: str
    cards: Sequence[tuple[int, str, str, str]]
    goes_on: bool


def merge_lanes(db: Connection, board: VisibleBoard) -> list[LaneOrder]:
    """Return the merge lanes with cards of the board, of repositories that the visitor may read.

    A place whose card they do not see here, as one of another board, has its pull request alone.
    """
    lanes = []
    for repository in siblings.lane_repositories(db, board.board_id):
        if repository not in board.seen:
            continue
        lane, places = siblings.merge_lane(db, repository, MAX_LANE + 1), []
        for it in lane[:MAX_LANE]:
            card = cards.get(db, it.card_id)
            shown = card is not None and card.board_id == board.board_id and card.repository in board.seen
            if card is not None and shown:
                path = path_of(card.repository, card.number, card.card_id)
                places.append(
                    (it.pull, f"{card.repository}#{card.number}", path, plain(card.because, MAX_WHY))
                )
            else:
                places.append((it.pull, "", "", ""))
        lanes.append(LaneOrder(repository, places, len(lane) > MAX_LANE))
    return lanes


def stop_lines(
    db: Connection, board: VisibleBoard, now: datetime, *, whole: bool, of_runs_in: str | None = None
) -> list[str]:
    """Return a sentence for the halt and each stop in force; of cards those that the visitor may see.

    Why the board is halted is only for whom it is whole. `of_runs_in`: only those for a whole column.
    """
    if not board.home:
        return []
    halt = halts.of_board(db, board.board_id)
    lines = []
    if halt is not None:
        why = describe_halt(halt) if whole else f"the board is halted ({LIFTS['board']})"
        lines.append(f"Since {when(halt.at)}, for {brief(now - halt.at)}, {why}.")
    for stop in stops.of_board(db, board.board_id):
        if of_runs_in is not None and not (
            stop.scope == "board" or (stop.scope == "column" and same_column(stop.target, of_runs_in))
        ):
            continue
        if what := _target(db, board, stop):
            since = f"since {when(stop.at)}, for {brief(now - stop.at)}"
            done, lift = stop_words(stop.scope, stop.by, stop.because, claims=stop.claims)
            lines.append(f"{what} is {done} {since}. To resume: {lift}.")
    return lines


def start_lines(db: Connection, board: VisibleBoard, column: str, now: datetime, home: Path) -> list[str]:
    """Return a sentence for each reason for which no run of that column would start just now."""
    lines = stop_lines(db, board, now, whole=False, of_runs_in=column)
    at_work, rules = hosts.list_hosts(db).at_work, policies.in_force(db, board.board_id).column(column)
    if not at_work:
        return [*lines, NO_HOST.format(workers=program.of_workers(home))]
    if rules and not any({*rules.runs_on} <= {*host.labels} for host in at_work):
        lines.append(sentence(without_labels(rules.runs_on)))
    if stalls.counts(db).get(board.board_id):
        lines.append(STALLED)
    return lines


def stop_mark(db: Connection, board: VisibleBoard) -> str:
    """Return a word that is another one when other stops are in force: other forms may fit then."""
    halt = halts.of_board(db, board.board_id)
    marks = [repr((it.scope, it.target, it.at)) for it in stops.of_board(db, board.board_id)]
    return hashlib.sha256(repr((halt and halt.at, sorted(marks))).encode()).hexdigest()[:16]


def _target(db: Connection, board: VisibleBoard, stop: StopRow) -> str:
    """Return the subject of the stop; empty for a card that the visitor may not see."""
    if stop.scope == "board":
        return "The board"
    if stop.scope == "column":
        return f"The column {plain(stop.target)}"
    card = cards.get(db, CardId(stop.target))
    if card is None or (card.repository and card.repository not in board.seen):
        return ""
    return f"The card {f'{card.repository}#{card.number}' if card.number else plain(card.title)}"


def limits(db: Connection, board_id: BoardId, now: datetime) -> list[LimitView]:
    """Return the board's limits in use: only for whom the board is whole."""
    return [
        LimitView(it.meaning, plain(it.place) or "the board", *loads.figures(it), it.is_reached)
        for it in loads.limits(db, board_id, now)
    ]


def queue_order(db: Connection, board_id: BoardId, now: datetime) -> list[QueueView]:
    """Return the columns' queues, each from its head: only for whom the board is whole."""
    counts = run_queue.counts(db, board_id)
    most = max(1, MAX_QUEUED // len(counts)) if counts else 0
    lines = []
    for column, total in sorted(counts.items()):
        head = run_queue.list_queued_in_column(db, board_id, column, most)
        lines.append(QueueView(plain(column), _places(head, now), total - len(head)))
    return lines


def _places(head: Sequence[run_queue.QueuedCard], now: datetime) -> list[tuple[str, str, str, str, str, str]]:
    places, listed = 0, list[tuple[str, str, str, str, str, str]]()
    for it in head:
        places += it.in_line
        name = f"{it.repository}#{it.number}" if it.number else plain(it.title)
        path, why = path_of(it.repository, it.number, it.card_id), plain(it.because, MAX_WHY) or NEXT
        place = str(places) if it.in_line else "not queued"
        listed.append((place, name, path, it.run_id, brief(now - it.queued_at), why))
    return listed
