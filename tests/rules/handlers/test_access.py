"""What it means for a card that its repository cannot be reached, and that it can again."""

from typing import Any

import pytest

from ledger.events.board import CardConverted
from ledger.events.run import RunRequeued, RunStopAsked
from ledger.states import CardState, RunState, StopKind
from rules.card.state import conclude_decision
from rules.handlers.access import WHY, spread
from rules.snapshot import Snapshot
from tests.rules.scene import CARD, POLICY, R1, a_loss, a_placement, asks, card, only, run, states

GONE = {
    "archived": card(run=run(), losses=(a_loss("acme/shop", "archived"),)),
    "given away": card(run=run(), repository="beta/shop", board_owner="acme"),
    "placed and given away": card(run=run(), board_owner="acme", target=a_placement("beta/api", "")),
}


@pytest.mark.parametrize("name", GONE)
def test_a_run_at_work_is_paused_and_its_card_blocked(name: str) -> None:
    decision = conclude_decision(POLICY, GONE[name], spread(GONE[name]))
    stop = only(decision.intents, RunStopAsked)
    assert (stop.run_id, stop.how, stop.why) == (R1, "pause", WHY)
    assert states(decision.intents) == [CardState.BLOCKED]


def paused(**changes: Any) -> Snapshot:
    parked = run(RunState.PARKED, stop_asked=StopKind.PAUSE, stop_by="Cardinal", stop_why=WHY)
    return card(state=CardState.BLOCKED, run=parked, board_owner="acme", **changes)


def test_it_goes_on_when_the_repository_is_back_whoever_tells_it() -> None:
    resumed = RunRequeued(R1, "resumed")
    assert spread(paused()).intents == (resumed,)
    back = CardConverted(CARD, "I_1", "acme/shop", 12)
    assert resumed in asks(paused(), back)
    assert resumed not in asks(paused(repository="beta/shop"), back)
