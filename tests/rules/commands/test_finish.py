"""`/cardinal finish`: a run whose card was dragged away goes on to its end."""

import pytest

from ledger.rows.limit_answers import Code
from ledger.states import StopKind
from rules.snapshot import Snapshot
from tests.rules.commands.cases import handled, told
from tests.rules.scene import LEAVING, answer_to, card, run


def test_it_settles_the_question_about_leaving() -> None:
    snapshot = card(run=run(), questions=(LEAVING,), held_back="Review")
    assert handled("finish", snapshot) == (answer_to(LEAVING, "Let it finish", Code.FINISH),)


def test_without_that_question_it_is_only_acknowledged() -> None:
    assert handled("finish", card(run=run(), held_back="Review")) == ()


@pytest.mark.parametrize(
    ("snapshot", "said"),
    [
        (card(), "nothing to finish"),
        (card(run=run()), "r1 finishes by itself"),
        (card(run=run(stop_asked=StopKind.CANCEL), held_back="Review"), "is already being cancelled"),
    ],
)
def test_where_nothing_was_dragged_away_it_says_so(snapshot: Snapshot, said: str) -> None:
    assert said in told("finish", snapshot)
