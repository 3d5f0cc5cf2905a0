"""Why a run is as it is, in a list of runs."""

import pytest

from bot.render.run.reasons import explain_run
from ledger.states import RunState
from tests.rules.scene import run


@pytest.mark.parametrize(
    ("kind", "state", "said"),
    [
        ("first", RunState.QUEUED, "r1 asks: Euros?"),
        ("rerun", RunState.QUEUED, "waiting for its turn"),
        ("check", RunState.QUEUED, "waiting for its turn"),
        ("rerun", RunState.WORKING, "reading"),
    ],
)
def test_a_run_beside_the_cards_own_has_not_the_cards_reason(kind: str, state: RunState, said: str) -> None:
    assert explain_run(run(state, kind=kind), "r1 asks: Euros?") == said
