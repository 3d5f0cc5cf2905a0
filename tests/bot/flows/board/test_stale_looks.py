"""GitHub may answer a read as of before a change that is known: that is nobody's change back."""

from datetime import timedelta
from typing import Any

import pytest

from bot.github.api import project_queries
from bot.sync import card
from forge.store.board import Item
from ledger.events.board import CardArchived, CardMoved, CardRestored
from ledger.events.run import RunQueued
from ledger.ids import CardId
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of

SECONDS = 20


def read_card(cardinal: Cardinal, item: Item) -> dict[str, Any]:
    """Return what GitHub answers now to a read of the card."""
    return {"data": cardinal.services.hub.graphql(project_queries.CARD, {"cards": [item.node_id]})}


def stay(cardinal: Cardinal, answer: dict[str, Any]) -> None:
    """Let GitHub answer that to each read of the card until the faults are cleared."""
    fault = {"path": "/graphql$", "body": r"query Card\(", "status": 200, "answer": answer, "count": 10_000}
    cardinal.forge.store.faults.load({"api": [fault]})


def moved(cardinal: Cardinal) -> Item:
    """Let a command move a card, while reads still show where it stood."""
    item = cardinal.new(column="Planning")
    cardinal.catch_up()
    stay(cardinal, read_card(cardinal, item))
    cardinal.say(item, "/cardinal move In Progress")
    cardinal.catch_up()
    assert cardinal.column(item) == "In Progress"
    return item


def read_again(cardinal: Cardinal, seconds: float = SECONDS) -> None:
    cardinal.clock.forward(seconds)
    cardinal.sweep()
    cardinal.catch_up()


def test_a_read_that_is_late_is_no_move_back(cardinal: Cardinal) -> None:
    item = moved(cardinal)
    read_again(cardinal)
    assert [(it.after, it.by_cardinal) for it in cardinal.events(CardMoved)] == [("In Progress", True)]
    assert cardinal.card(item).column == "In Progress"
    cardinal.forge.store.faults.clear()
    read_again(cardinal, 90)
    assert len(cardinal.events(CardMoved)) == 1
    assert len(cardinal.events(RunQueued)) == 1


@pytest.mark.parametrize("how", ["drag", "archive"])
def test_a_read_that_is_late_takes_no_persons_change_back(cardinal: Cardinal, how: str) -> None:
    item = cardinal.new(column="Planning")
    cardinal.catch_up()
    before = read_card(cardinal, item)
    cardinal.clock.forward(2)  # GitHub's times have whole seconds
    if how == "drag":
        cardinal.drag(item, "In Progress", who="bob")
    else:
        cardinal.forge.store.projects.set_archived(item, True, actor=cardinal.person("bob"))
    cardinal.catch_up()
    changes = (CardMoved, CardArchived, CardRestored)
    counts = [len(cardinal.events(kind)) for kind in changes]
    stay(cardinal, before)
    for _ in range(2):
        card.sync_card(cardinal.services, CardId(item.node_id))
        cardinal.clock.forward(90)
    assert [len(cardinal.events(kind)) for kind in changes] == counts
    cardinal.forge.store.faults.clear()
    if how == "drag":
        cardinal.drag(item, "Planning", who="alice")
        cardinal.catch_up()
        assert [(event.after, event.by) for event in cardinal.events(CardMoved)][-1] == ("Planning", "alice")


def test_a_person_who_drags_the_card_back_at_once_is_believed(cardinal: Cardinal) -> None:
    item = moved(cardinal)
    cardinal.drag(item, "Planning", who="bob")
    cardinal.catch_up()
    back = cardinal.events(CardMoved)[-1]
    assert (back.after, back.by, back.by_cardinal) == ("Planning", "bob", False)


@pytest.mark.parametrize("ahead_h", [0, 5])
def test_a_drag_whose_delivery_is_lost_is_found_by_the_timeline_at_once(
    cardinal: Cardinal, ahead_h: int
) -> None:
    cardinal.clock.wrong_by = timedelta(hours=ahead_h)
    item = moved(cardinal)
    cardinal.forge.store.faults.clear()
    cardinal.drag(item, "Planning", who="bob")
    cardinal.mail.clear()
    read_again(cardinal)
    back = cardinal.events(CardMoved)[-1]
    assert (back.after, back.by) == ("Planning", "bob")


def test_a_move_back_that_nobody_tells_of_counts_after_a_minute(cardinal: Cardinal) -> None:
    item = moved(cardinal)
    cardinal.drag(item, "Planning", who="bob")
    cardinal.mail.clear()  # and the reads stay as they are, with an old timeline
    read_again(cardinal)
    assert cardinal.card(item).column == "In Progress"
    read_again(cardinal, 60)
    assert cardinal.events(CardMoved)[-1].after == "Planning"


def test_it_counts_no_later_where_the_clock_was_ahead_at_cardinals_own_move(cardinal: Cardinal) -> None:
    cardinal.clock.wrong_by = timedelta(hours=5)
    item = moved(cardinal)
    cardinal.clock.wrong_by = timedelta()
    cardinal.drag(item, "Planning", who="bob")
    cardinal.mail.clear()
    read_again(cardinal, 60)
    assert cardinal.events(CardMoved)[-1].after == "Planning"


def test_a_move_to_a_third_column_is_not_taken_for_a_late_read(cardinal: Cardinal) -> None:
    item = moved(cardinal)
    cardinal.forge.store.faults.clear()
    cardinal.drag(item, "Review", who="bob")
    answer = read_card(cardinal, item)
    for node in answer["data"]["nodes"]:  # and its timeline is late, too
        node["content"]["timelineItems"]["nodes"] = []
    cardinal.mail.clear()
    stay(cardinal, answer)
    read_again(cardinal)
    assert cardinal.events(CardMoved)[-1].after == "Review"


@pytest.mark.parametrize("wanted", ["archive", "unarchive"])
def test_a_read_that_is_late_neither_brings_a_card_back_nor_takes_it_away(
    cardinal: Cardinal, wanted: str
) -> None:
    item = cardinal.new(column="Planning")
    cardinal.catch_up()
    if wanted == "unarchive":
        cardinal.say(item, "/cardinal archive")
        cardinal.catch_up()
        cardinal.clock.forward(120)
    stay(cardinal, read_card(cardinal, item))
    cardinal.say(item, f"/cardinal {wanted}")
    cardinal.catch_up()
    read_again(cardinal)
    counts = (len(cardinal.events(CardArchived)), len(cardinal.events(CardRestored)))
    assert counts == ((1, 0) if wanted == "archive" else (1, 1))
    assert cardinal.card(item).archived is (wanted == "archive")
    assert issue_of(item).state == "open"
