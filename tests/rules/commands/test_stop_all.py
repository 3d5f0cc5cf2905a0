"""`/cardinal stop-all`: the board's kill switch."""

from ledger.events.board import StopOrdered
from tests.rules.commands.cases import handled, told
from tests.rules.scene import BOARD, a_stop, card, run


def test_it_stops_the_board() -> None:
    assert handled("stop-all", card(run=run())) == (StopOrdered(BOARD, "board", BOARD, "bob"),)


def test_a_stopped_board_is_not_stopped_twice() -> None:
    assert "/cardinal resume board" in told("stop-all", card(stops=(a_stop("board", BOARD, "al"),)))
