"""The sweep against the forge: large boards, people's boards, repositories out of sight, lost deliveries."""

import json
from pathlib import Path

import pytest

from bot.github.errors import UnavailableError
from bot.ingest import delivery as deliveries
from forge.store.board import Item
from ledger.events.board import CardSeen
from ledger.events.policy import PolicyLoaded
from ledger.ids import DeliveryId
from ledger.log import event_store
from ledger.queue import inbox
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.opening import opened


def points(cardinal: Cardinal) -> int:
    """Return the points of GraphQL that were spent since the last time."""
    calls = cardinal.forge.gateway.calls
    spent = sum(call.cost for call in calls if call.path == "/graphql")
    calls.clear()
    return spent


def drafts(cardinal: Cardinal, count: int, column: str) -> list[Item]:
    """Put drafts on the board that nobody tells Cardinal of."""
    items = [cardinal.draft(f"Idea {n}", column) for n in range(count)]
    cardinal.mail.clear()
    return items


def fill_board(cardinal: Cardinal) -> None:
    """Let the board have two pages of drafts that Cardinal has seen."""
    drafts(cardinal, 130, "Tasks")
    assert len(cardinal.sweep()) == 130
    while cardinal.serve_refreshes():
        pass


@pytest.mark.after(scene=fill_board)
def test_a_sweep_of_a_quiet_board_costs_the_installation_one_point_and_the_app_two_calls(
    cardinal: Cardinal,
) -> None:
    cardinal.sweep()
    cardinal.clock.forward(60)
    points(cardinal)
    assert cardinal.sweep() == ()
    made = [(call.method, call.path, call.cost) for call in cardinal.forge.gateway.calls]
    as_the_app = [("GET", "/orgs/acme/installation", 1), ("GET", "/app/hook/deliveries", 1)]
    assert sorted(made) == sorted([*as_the_app, ("POST", "/graphql", 1)])


@pytest.mark.after(scene=fill_board)
def test_a_drag_at_the_end_of_a_large_board_is_found_by_the_next_sweep(cardinal: Cardinal) -> None:
    many = cardinal.project.items[-130:]
    cardinal.clock.forward(600)
    cardinal.sweep()
    cardinal.clock.forward(60)
    points(cardinal)
    cardinal.drag(many[-1], "Planning")
    cardinal.forge.store.projects.delete_item(many[60], actor=cardinal.person("alice"))
    cardinal.mail.clear()
    assert set(cardinal.sweep()) == {many[-1].node_id, many[60].node_id}
    assert points(cardinal) <= 4, "one for the sweep, the rest for looking at what it found"
    assert cardinal.card(many[-1]).column == "Planning"


def test_a_board_without_its_policys_repository_has_the_built_in_policy(tmp_path: Path) -> None:
    with opened(tmp_path, before=_lose_home) as cardinal:
        assert [event.text for event in cardinal.events(PolicyLoaded)] == [""]
        cardinal.forge.store.repos.create(cardinal.project.owner, "board")
        cardinal.set_policy("version: 1\n")
        cardinal.mail.clear()
        cardinal.sweep()
        assert [event.text for event in cardinal.events(PolicyLoaded)] == ["", "version: 1\n"]


def _lose_home(cardinal: Cardinal) -> None:
    cardinal.forge.store.repos.delete(cardinal.home_repo, actor=cardinal.person("alice"))


def test_a_policy_that_goes_out_of_sight_stays_in_force(cardinal: Cardinal) -> None:
    before = len(cardinal.events(PolicyLoaded))
    _lose_home(cardinal)
    cardinal.sweep()
    assert len(cardinal.events(PolicyLoaded)) == before


def test_a_new_policy_that_no_push_told_of_is_followed_by_the_next_sweep(cardinal: Cardinal) -> None:
    cardinal.set_policy("version: 1\n")
    cardinal.mail.clear()
    cardinal.sweep()
    assert cardinal.events(PolicyLoaded)[-1].text == "version: 1\n"


@pytest.mark.after(scene=fill_board)
def test_a_cursor_that_github_forgot_costs_one_sweep(cardinal: Cardinal) -> None:
    records = cardinal.services.config.home / "run" / "shared"
    (memory,) = [path for path in records.iterdir() if b'"starts"' in path.read_bytes()]
    text = memory.read_text()
    cursor = json.loads(text)["starts"][0][0]
    memory.write_text(text.replace(cursor, "nonsense"))
    with pytest.raises(Exception, match="valid cursor"):
        cardinal.sweep()
    item = drafts(cardinal, 1, "Tasks")[0]
    assert cardinal.sweep() == (item.node_id,)


@pytest.mark.after(scene=fill_board)
def test_a_sweep_that_takes_github_too_long_asks_for_less_the_next_time(cardinal: Cardinal) -> None:
    cardinal.forge.store.faults.load({"api": [{"path": "/graphql", "status": 502}]})
    with pytest.raises(UnavailableError):
        cardinal.sweep()
    item = drafts(cardinal, 1, "Tasks")[0]
    assert cardinal.sweep() == (item.node_id,)


def test_a_hundred_lost_deliveries_are_asked_for_at_once_and_come_with_the_same_name(
    cardinal: Cardinal,
) -> None:
    items = [cardinal.draft(f"Card {n}", "Tasks") for n in range(10)]
    for n in range(80):
        cardinal.drag(items[n % 10], ("Planning", "Tasks", "Review")[n // 10 % 3])
    lost = [cardinal.mail.popleft() for _ in range(len(cardinal.mail))]
    assert len(lost) == 100
    for delivery in lost:
        delivery.status_code, delivery.status, delivery.delivered_at = 502, "failed", cardinal.clock()
    cardinal.sweep()
    assert {one.guid for one in cardinal.mail} == {one.guid for one in lost}
    while cardinal.mail:
        delivery = cardinal.mail.popleft()
        delivery.status_code, delivery.status, delivery.delivered_at = 202, "OK", cardinal.clock()
        assert cardinal.receive(delivery)
        deliveries.ingest(cardinal.services, DeliveryId(delivery.guid))
    cardinal.serve_refreshes()
    assert _all_came(cardinal, [one.guid for one in lost])
    assert {item.node_id for item in items} <= {event.card_id for event in cardinal.events(CardSeen)}
    asked = cardinal.calls("attempts")
    cardinal.sweep()
    assert cardinal.calls("attempts") == asked, "what came is not asked for again"


def _all_came(cardinal: Cardinal, guids: list[str]) -> bool:
    with event_store.reading(cardinal.services.engine) as db:
        return all(inbox.is_known(db, DeliveryId(guid)) for guid in guids)
