"""`/cardinal complete`: a drag into the last column, with its policy, past no gate."""

import pytest

from rules.intents.outbound import MoveCard, Say
from tests.rules.commands.cases import told
from tests.rules.scene import asks, card, ended, given, only, policy, run


def test_it_moves_the_card_as_a_drag_would() -> None:
    move = only(asks(card("Review", run=ended()), given("complete")), MoveCard)
    assert (move.column, move.source, move.by) == ("Done", "Review", "bob")
    assert "r1 has not ended, so the card stays" in told("complete", card(run=run()))
    assert "is already in `Done`" in told("complete", card("Done", run=ended()))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            "Work: {archetype: execution}\nDone: {archetype: terminal}\nDropped: {archetype: terminal}\n",
            "say `/cardinal move Done` or `/cardinal move Dropped`",
        ),
        ("In Progress: {archetype: execution}\n", "No column of this board completes cards"),
    ],
)
def test_where_no_single_column_is_the_last_it_says_so(columns: str, words: str) -> None:
    assert words in only(asks(card(), given("complete"), by=policy(columns)), Say).text
