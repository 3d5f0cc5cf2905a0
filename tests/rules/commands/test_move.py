"""`/cardinal move`: a drag in words, for whoever may drag."""

import pytest

from ledger.events.publication import EntryGivenUp
from ledger.ids import EntryKey
from ledger.states import CardState
from rules.intents.internal import ChangeCardState
from rules.intents.outbound import MoveCard, Say
from rules.snapshot import Snapshot
from tests.rules.commands.cases import handled, told
from tests.rules.scene import CARD, asks, card, ended, given, kinds, only, run


@pytest.mark.parametrize("argument", ["Review", "review", " REVIEW "])
def test_it_moves_the_card_for_whoever_says_so(argument: str) -> None:
    (move,) = handled("move", card(run=ended()), argument)
    assert isinstance(move, MoveCard)
    assert (move.card_id, move.column, move.source, move.by) == (CARD, "Review", "In Progress", "bob")


@pytest.mark.parametrize(
    ("seen", "argument", "words"),
    [
        (card(), "", "Nothing was moved: say `Tasks`, `Planning`"),
        (card(), "Nowhere", "as in `/cardinal move <column>`"),
        (card(), "in progress", "The card is already in `In Progress`."),
        (card(run=run()), "Review", "r1 has not ended, so the card stays: `/cardinal cancel` first"),
    ],
)
def test_what_cannot_be_done_is_said(seen: Snapshot, argument: str, words: str) -> None:
    assert words in told("move", seen, argument)


def test_a_move_that_came_to_nothing_is_said_and_leaves_the_card_as_it_is() -> None:
    key = EntryKey("move:c1:command:20260101T000000")
    for snapshot in (card(), card(run=run()), card(archived=True)):
        text = only(
            asks(snapshot, EntryGivenUp(CARD, key, "move_card", "it left the board meanwhile")), Say
        ).text
        assert text == "The card was not moved: it left the board meanwhile."
        assert kinds(asks(snapshot, EntryGivenUp(CARD, key, "move_card", "no"))) == ["Say"]
    of_rule = EntryGivenUp(CARD, EntryKey("move:c1:success:r1"), "move_card", "no such column")
    assert only(asks(card(), of_rule), ChangeCardState).after is CardState.BLOCKED


def test_a_form_moves_a_card_only_from_where_it_was_seen() -> None:
    sent = {"source": "page:move:In Progress", "place": "page", "comment_id": -9}
    assert only(asks(card(), given("move", "Review", **sent)), MoveCard).by == "bob"
    assert kinds(asks(card("QA"), given("move", "Review", **sent))) == ["Say"]
