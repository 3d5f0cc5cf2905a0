"""The sweep's way round boards of any size: every card is seen, for a fixed price."""

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.github.api.project_pages import BoardReading, Page
from bot.github.shared_records import FileRecords
from bot.sync import sweep as sweeping
from bot.sync.sweep import BoardPass, SweepState
from bot.system.clock import utc_now
from ledger.events.board import BoardSeen
from ledger.ids import BoardId, CardId

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SHAPE = BoardSeen(BoardId("B"), "acme", 1, "Board", "F", (), ())


class Board:
    """A board's cards in order; a cursor goes with its card, and with the place of one that is gone."""

    def __init__(self, size: int) -> None:
        self.cards = [CardId(f"c{n}") for n in range(size)]
        self.touched = 0
        self.points = 0
        self._places: dict[str, int] = {}

    def change(self, cards: Sequence[CardId]) -> None:
        self.cards, self.touched = list(cards), self.touched + 1

    def sight(self, starts: Sequence[str | None]) -> BoardReading:
        self.points += 1
        return BoardReading(SHAPE, str(self.touched), "", tuple(self._page(start) for start in starts))

    def _page(self, start: str | None) -> Page:
        begin = 0
        if start is not None:
            card = CardId(start)
            begin = self.cards.index(card) + 1 if card in self.cards else self._places[start]
        card_ids = self.cards[begin : begin + 100]
        for position, card in enumerate(card_ids, start=begin + 1):
            self._places[card] = position
        return Page((), tuple((card, card) for card in card_ids), begin + 100 < len(self.cards))


def sweep(board: Board, state: SweepState, now: datetime) -> tuple[set[CardId], list[frozenset[CardId]]]:
    """Return the cards that one sweep saw, and those of the rounds that it ended."""
    turn, card_ids, ended = BoardPass(state, now), set[CardId](), list[frozenset[CardId]]()
    while True:
        reading = board.sight(turn.starts())
        card_ids |= {card for page in reading.pages for card, _ in page.places}
        whole = turn.take(reading)
        ended += [whole] if whole is not None else []
        if not turn.goes_on():
            return card_ids, ended


@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 195, 196, 480])
def test_a_small_board_is_read_whole_for_one_point_each_time(size: int) -> None:
    board, state = Board(size), SweepState()
    sweep(board, state, NOW)
    board.points = 0
    card_ids, ended = sweep(board, state, NOW + timedelta(minutes=1))
    assert (card_ids, ended, board.points) == (set(board.cards), [frozenset(board.cards)], 1)


def test_two_thousand_quiet_cards_cost_a_point_a_minute_and_are_seen_within_five() -> None:
    board, state = Board(2_000), SweepState()
    assert sweep(board, state, NOW)[0] == set(board.cards)
    board.points = 0
    for minute in range(1, 61):
        sweep(board, state, NOW + timedelta(minutes=minute))
    assert board.points == 60
    card_ids = set[CardId]()
    for minute in range(61, 66):
        card_ids |= sweep(board, state, NOW + timedelta(minutes=minute))[0]
    assert card_ids == set(board.cards)


@pytest.mark.parametrize("size", [100, 2_000, 10_000])
def test_a_board_that_changes_all_the_time_costs_two_per_cent_of_the_hour_at_most(size: int) -> None:
    board, state = Board(size), SweepState()
    sweep(board, state, NOW)
    board.points = 0
    for minute in range(1, 61):
        board.change([CardId(f"new{minute}"), *board.cards])
        sweep(board, state, NOW + timedelta(minutes=minute))
    assert board.points <= 100


def test_one_change_of_a_quiet_board_is_found_by_the_next_sweep_wherever_it_is() -> None:
    board, state = Board(2_000), SweepState()
    sweep(board, state, NOW)
    for minute in range(1, 12):
        sweep(board, state, NOW + timedelta(minutes=minute))
    before = board.points
    board.change(board.cards)  # a card moved to another column and kept its place
    card_ids, _ = sweep(board, state, NOW + timedelta(minutes=12))
    assert card_ids == set(board.cards)
    assert board.points - before <= 6


@pytest.mark.parametrize("seed", range(20))
def test_whatever_moves_between_the_sweeps_every_round_ends_with_all_that_stayed(seed: int) -> None:
    chance, board, state = random.Random(seed), Board(700), SweepState()
    sweep(board, state, NOW)
    for minute in range(1, 40):
        cards = list(board.cards)
        for n in range(chance.randrange(4)):
            cards.insert(chance.randrange(len(cards)), CardId(f"n{minute}-{n}"))
        for _ in range(chance.randrange(4)):
            cards.pop(chance.randrange(len(cards)))
        board.change(cards)
        sweep(board, state, NOW + timedelta(minutes=minute))
    for minute in range(40, 60):  # the board is quiet: what is said at a round's end must be the truth
        _, ended = sweep(board, state, NOW + timedelta(minutes=minute))
    assert ended == [] or ended[-1] == frozenset(board.cards)
    card_ids = set[CardId]()
    for minute in range(60, 64):
        card_ids |= sweep(board, state, NOW + timedelta(minutes=minute))[0]
    assert card_ids == set(board.cards)


def test_many_new_cards_at_the_seam_of_two_pages_are_seen() -> None:
    board, state = Board(300), SweepState()
    sweep(board, state, NOW)
    fresh = [CardId(f"n{n}") for n in range(250)]
    board.change([*board.cards[:90], *fresh, *board.cards[90:]])
    card_ids, ended = sweep(board, state, NOW + timedelta(minutes=1))
    assert card_ids == set(board.cards)
    assert ended[-1] == frozenset(board.cards)


def test_a_request_that_took_too_long_is_asked_for_less_next_time_and_recovers() -> None:
    board, state = Board(480), SweepState()
    sweep(board, state, NOW)
    sweeping.slow_down(state)
    assert len(BoardPass(state, NOW).starts()) == 2
    for minute in range(1, 30):
        sweep(board, state, NOW + timedelta(minutes=minute))
    assert len(BoardPass(state, NOW).starts()) == 5


def test_the_memory_survives_its_process_and_belongs_to_one_board(tmp_path: Path) -> None:
    records = FileRecords(tmp_path / "run", utc_now)
    board, state = Board(300), sweeping.load_memory(records, "b1", ["acme", 1])
    sweep(board, state, NOW)
    sweeping.save_memory(records, "b1", state)
    assert sweeping.load_memory(records, "b1", ["acme", 1]) == state
    assert not sweeping.load_memory(records, "b1", ["acme", 2]).whole
    assert not sweeping.load_memory(records, "b2", ["acme", 1]).whole
    for path in (tmp_path / "run").iterdir():
        path.write_text('{"scope": 1')
    assert not sweeping.load_memory(records, "b1", ["acme", 1]).whole
