"""`/cardinal stop-all`: the board's kill switch."""

from rules.intents.internal import OrderStop
from rules.snapshot import Stop
from tests.rules.commands.cases import obeyed, told
from tests.rules.scene import BOARD, CARD, card, run


def test_it_stops_the_board() -> None:
    assert obeyed("stop-all", card(run=run())) == (OrderStop(CARD, BOARD, "board", BOARD, "bob"),)


def test_a_stopped_board_is_not_stopped_twice() -> None:
    assert "/cardinal resume board" in told("stop-all", card(stops=(Stop("board", BOARD, "al"),)))
