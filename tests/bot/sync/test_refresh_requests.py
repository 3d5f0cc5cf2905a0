"""Every shape in which a change of the board arrives asks for one read, and starts its card exactly once."""

from datetime import datetime
from typing import Any

import pytest

from bot.ingest import events, facts
from forge.store.board import Item
from forge.store.settings import DragShape
from ledger.events.run import RunQueued
from ledger.queue.refresh_requests import Move
from tests.bot.flows.cardinal import Cardinal
from tests.bot.ingest.samples import AT, AUTOMATION, BOT_ID, DELIVERIES, sample

STATUS = {"field_node_id": "PVTSSF_1", "field_type": "single_select", "field_name": "Status"}
TODO = {"id": "1", "name": "Tasks", "color": "GRAY", "description": None}
BEGUN = {"id": "2", "name": "In Progress", "color": "YELLOW", "description": ""}
SHAPES: dict[str, dict[str, Any]] = {
    "a drag with from and to": {
        "action": "edited",
        "changes": {"field_value": {**STATUS, "project_number": 1, "from": TODO, "to": BEGUN}},
    },
    "a drag out of no column": {
        "action": "edited",
        "changes": {"field_value": {**STATUS, "project_number": 1, "from": None, "to": BEGUN}},
    },
    "a drag as of 2022, without from and to": {
        "action": "edited",
        "changes": {"field_value": {"field_node_id": "PVTSSF_1", "field_type": "single_select"}},
    },
    "a drag as a move between no cards": {
        "action": "reordered",
        "changes": {"previous_projects_v2_item_node_id": {"from": None, "to": None}},
    },
    "a move behind another card": {
        "action": "reordered",
        "changes": {"previous_projects_v2_item_node_id": {"from": "PVTI_2", "to": "PVTI_3"}},
    },
    "an automation's move": {
        "action": "edited",
        "changes": {"field_value": {**STATUS, "from": TODO, "to": BEGUN}},
        "sender": AUTOMATION,
    },
    "a new card": {"action": "created", "changes": None},
    "an archived card": {
        "action": "archived",
        "changes": {"archived_at": {"from": None, "to": "2026-11-20T10:00:00Z"}},
    },
    "a restored card": {
        "action": "restored",
        "changes": {"archived_at": {"from": "2026-11-20T10:00:00Z", "to": None}},
    },
    "a converted draft": {
        "action": "converted",
        "changes": {"content_type": {"from": "DraftIssue", "to": "Issue"}},
    },
    "an edited draft": {"action": "edited", "changes": {"title": {"from": "Old", "to": "New"}}},
    "a card taken off": {"action": "deleted"},
    "an action that nobody has documented yet": {"action": "teleported", "changes": {"where": [1]}},
}


MOVED = dict.fromkeys(
    ("a drag with from and to", "a drag out of no column", "an automation's move"),
    Move(datetime.fromisoformat(AT), BEGUN["id"] or ""),
)


def read(changed: dict[str, Any]) -> tuple[facts.Fact, ...]:
    """Return what a delivery of now says."""
    card = {**DELIVERIES["projects_v2_item"]["projects_v2_item"], "updated_at": AT}
    payload = sample("projects_v2_item", **{"projects_v2_item": card, **changed})
    return events.read("projects_v2_item", payload, bot_id=BOT_ID)


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_rings_the_card_once(shape: str) -> None:
    (fact,) = read(SHAPES[shape])
    assert isinstance(fact, facts.CardTouched)
    assert (fact.card_id, fact.content_id, fact.action) == ("PVTI_1", "I_1", SHAPES[shape]["action"])
    assert fact.moved == MOVED.get(shape)


def test_a_move_of_cardinals_own_rings_and_tells_of_no_drag() -> None:
    own = {**SHAPES["a drag with from and to"], "sender": {"login": "cardinal[bot]", "id": BOT_ID}}
    (fact,) = read(own)
    assert isinstance(fact, facts.CardTouched)
    assert fact.moved is None


@pytest.mark.parametrize("to", [5, "2", [], {}, {"id": 2}])
def test_what_a_delivery_tells_of_a_move_in_an_unknown_shape_rings_all_the_same(to: Any) -> None:
    changes = {"field_value": {**STATUS, "from": TODO, "to": to}}
    assert len(read({"changes": changes})) == 1


def test_a_card_whose_content_is_out_of_sight_rings_too() -> None:
    card = {**DELIVERIES["projects_v2_item"]["projects_v2_item"], "content_node_id": None}
    told = events.read("projects_v2_item", sample("projects_v2_item", projects_v2_item=card), bot_id=BOT_ID)
    assert [fact.content_id for fact in told if isinstance(fact, facts.CardTouched)] == [""]


def starts(cardinal: Cardinal) -> dict[str, int]:
    """Return how many runs each card was given."""
    counts: dict[str, int] = {}
    for event in cardinal.events(RunQueued):
        counts[event.card_id] = counts.get(event.card_id, 0) + 1
    return counts


def edit_cell(cardinal: Cardinal, item: Item, column: str) -> None:
    """Choose a column in the board's table, as Alice."""
    status = cardinal.project.status
    option = status.option_named(column)
    assert option is not None
    cardinal.forge.store.projects.set_value(item, status, option.id, actor=cardinal.person("alice"))


@pytest.mark.parametrize("shape", [DragShape.EDITED, DragShape.REORDERED])
def test_however_a_card_gets_there_it_starts_exactly_once(cardinal: Cardinal, shape: DragShape) -> None:
    store, alice = cardinal.forge.store, cardinal.person("alice")
    store.settings.drag_shape = shape
    dragged, celled, automated, rested, dropped = (cardinal.new(f"Card {n}") for n in range(5))
    draft, converted = cardinal.draft("A draft", "Tasks"), cardinal.draft("Converted by hand", "Tasks")
    many = [cardinal.new(f"One of many {n}") for n in range(6)]
    cardinal.catch_up()

    cardinal.drag(dragged, "In Progress")
    cardinal.drag(dropped, "In Progress", before=dragged)  # dropped above the other one
    edit_cell(cardinal, celled, "In Progress")
    store.projects.drag(automated, "In Progress", actor=store.automation())
    for item in many:
        edit_cell(cardinal, item, "In Progress")
    store.projects.set_archived(rested, True, actor=alice)
    cardinal.drag(rested, "In Progress")
    cardinal.drag(draft, "In Progress")
    store.projects.convert_draft(converted, cardinal.repo, actor=alice)
    cardinal.drag(converted, "In Progress")
    cardinal.mail.extend(list(cardinal.mail))  # and each of them is delivered twice
    cardinal.catch_up()
    assert rested.node_id not in starts(cardinal), "an archived card rests wherever it stands"
    store.projects.set_archived(rested, False, actor=alice)
    cardinal.drag(rested, "Tasks")
    cardinal.catch_up()
    cardinal.drag(rested, "In Progress")
    cardinal.catch_up()

    items = [dragged, dropped, celled, automated, rested, draft, converted, *many]
    assert starts(cardinal) == {item.node_id: 1 for item in items}
    store.projects.move(dragged, None, actor=alice)  # a place in the column is no start
    cardinal.catch_up()
    assert starts(cardinal) == {item.node_id: 1 for item in items}
    cardinal.sweep()
    assert starts(cardinal) == {item.node_id: 1 for item in items}
    assert cardinal.failures == []
