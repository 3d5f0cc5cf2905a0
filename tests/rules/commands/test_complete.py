"""`/cardinal complete`: a drag into the last column, with its policy, past no gate."""

import pytest

from ledger.events.conversation import HandedOver
from rules.intents.outbound import MoveCard, Say
from rules.snapshot import Snapshot
from tests.rules.commands.cases import handled, told
from tests.rules.scene import CARD, asks, card, ended, given, only, policy, run


def test_it_moves_the_card_as_a_drag_would() -> None:
    move = only(asks(card("Review", run=ended()), given("complete")), MoveCard)
    assert (move.column, move.source, move.by) == ("Done", "Review", "bob")
    assert "r1 has not ended, so the card stays" in told("complete", card(run=run()))
    assert "is already in `Done`" in told("complete", card("Done", run=ended()))


@pytest.mark.parametrize(
    ("snapshot", "answer"),
    [
        (card("Review", run=ended()), ""),
        (card("Done", run=ended()), "is already in `Done`. Your text is kept"),
        (card("Done", run=None), "is already in `Done`. Your text is kept"),
        (card(run=run()), "so the card stays: `/cardinal cancel` first, or drag the card. Your text is kept"),
    ],
)
def test_a_text_is_kept_whether_or_not_the_card_moves(snapshot: Snapshot, answer: str) -> None:
    intents = handled("complete", snapshot, "Port 8080.\nNot 80.", metadata={"port": 8080})
    assert intents[0] == HandedOver(CARD, "bob", "Port 8080.\nNot 80.", {"port": 8080})
    last = intents[-1]
    assert isinstance(last, Say if answer else MoveCard)
    assert not isinstance(last, Say) or (answer in last.text and last.is_done)


def test_metadata_is_kept_without_a_text_and_nothing_without_either() -> None:
    intents = handled("complete", card("Review", run=ended()), "", metadata={"port": 8080})
    assert intents[0] == HandedOver(CARD, "bob", "", {"port": 8080})
    (move,) = handled("complete", card("Review", run=ended()), " ")
    assert isinstance(move, MoveCard)


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
