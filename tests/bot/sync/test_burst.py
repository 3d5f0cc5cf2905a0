"""Cards are dragged at once: they are read together, a column's order once; a bad one holds up no other."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from types import FrameType
from typing import Any

import pytest

from bot.github.client import Hub
from bot.github.errors import GithubError
from bot.ingest import delivery, events
from bot.scheduler import jobs, ticker
from bot.sync import card, column_order
from forge.store.board import Item
from ledger.events.board import CardMoved, ColumnRanked
from ledger.events.run import RunQueued
from ledger.ids import BoardId, CardId, DeliveryId
from ledger.log import event_store
from ledger.queue import inbox, leases
from tests.bot.flows.cardinal import Cardinal
from tests.ledger.traced import traced


def dragged(cardinal: Cardinal, count: int) -> list[Item]:
    """Return cards that were dragged to In Progress; the deliveries are stored, and not ingested."""
    items = [cardinal.new(f"Card {n}") for n in range(count)]
    cardinal.catch_up()
    for item in items:
        cardinal.drag(item, "In Progress")
    while cardinal.mail:
        cardinal.receive(cardinal.mail.popleft())
    cardinal.forge.gateway.calls.clear()
    return items


def ingested(cardinal: Cardinal) -> tuple[CardId, ...]:
    """Ingest what waits; return the cards to refresh."""
    due = inbox.due_deliveries(cardinal.services.engine, limit=100)
    cards, left = delivery.ingest_light(cardinal.services, due)
    assert not left
    assert inbox.due_deliveries(cardinal.services.engine, limit=100) == ()
    return cards


def test_cards_that_are_dragged_together_cost_one_read_and_their_column_another(cardinal: Cardinal) -> None:
    items = dragged(cardinal, 5)
    cards = ingested(cardinal)
    assert (
        card.sync_cards(cardinal.services, cards, paused={BoardId(items[0].project.node_id)}) == frozenset()
    )
    assert cardinal.calls("query Card(") == []  # GitHub takes no calls for the board just now
    synced = card.sync_cards(cardinal.services, cards)
    assert synced == {item.node_id for item in items}
    assert len(cardinal.calls("query Card(")) == 1
    assert [len(cardinal.events(kind)) for kind in (CardMoved, RunQueued)] == [5, 5]
    assert cardinal.calls("query Cards(") == []
    assert column_order.read_due(cardinal.services) == 1
    assert len(cardinal.calls("query Cards(")) == 1
    (ranked,) = cardinal.events(ColumnRanked)
    assert ranked.order == tuple(item.node_id for item in items)
    assert column_order.read_due(cardinal.services) == 0


class BusyHub(Hub):
    """Lets a card of the column be seen between GitHub's answer about the column and its recording."""

    def graphql(
        self,
        document: str,
        variables: Mapping[str, Any],
        *,
        repository: str | None = None,
        may_miss: frozenset[str] = frozenset(),
    ) -> dict[str, Any]:
        answer = super().graphql(document, variables, repository=repository, may_miss=may_miss)
        if "query Cards(" in document and (happen := getattr(self, "next", None)):
            happen()
        return answer


def test_a_card_that_is_seen_while_its_column_is_read_has_it_read_again(cardinal: Cardinal) -> None:
    _, second = dragged(cardinal, 2)
    card.sync_cards(cardinal.services, ingested(cardinal))
    hub = BusyHub(cardinal.services.config, cardinal.clock)
    hub.next = lambda: card.sync_card(cardinal.services, CardId(second.node_id))  # type: ignore[attr-defined]
    assert (
        column_order.read_due(replace(cardinal.services, context=replace(cardinal.services.context, app=hub)))
        == 1
    )
    assert column_order.read_due(cardinal.services) == 1
    assert column_order.read_due(cardinal.services) == 0


def test_one_process_at_a_time_reads_columns(cardinal: Cardinal) -> None:
    dragged(cardinal, 2)
    card.sync_cards(cardinal.services, ingested(cardinal))
    with event_store.writing(cardinal.services.engine) as db:
        turn = leases.take(db, column_order.TURN, "another", ttl_s=60)
    assert turn is not None
    assert column_order.read_due(cardinal.services) == 0
    with event_store.writing(cardinal.services.engine) as db:
        leases.release(db, turn)
    assert column_order.read_due(cardinal.services) == 1


def test_a_card_that_another_worker_holds_is_left_to_it(cardinal: Cardinal) -> None:
    first, second = dragged(cardinal, 2)
    cards = ingested(cardinal)
    with event_store.writing(cardinal.services.engine) as db:
        leases.take(db, f"look:{first.node_id}", "another", ttl_s=60)
    assert card.sync_cards(cardinal.services, cards) == {second.node_id}


def test_a_card_is_read_under_a_lease_that_its_record_gives_back(cardinal: Cardinal) -> None:
    (item,) = dragged(cardinal, 1)
    ingested(cardinal)
    with traced(cardinal.services.engine) as statements:
        assert card.sync_card(cardinal.services, CardId(item.node_id))
    released = [sql for sql in statements if "UPDATE leases" in sql and "look:" in sql and "holder=''" in sql]
    assert len(released) == 1


def test_a_delivery_that_costs_calls_is_left_and_one_that_somebody_took_is_recorded_once(
    cardinal: Cardinal,
) -> None:
    (item,) = dragged(cardinal, 1)
    cardinal.say(item, "/cardinal status")
    while cardinal.mail:
        cardinal.receive(cardinal.mail.popleft())
    due = inbox.due_deliveries(cardinal.services.engine, limit=100)
    cards, left = delivery.ingest_light(cardinal.services, due)
    assert (cards, len(left)) == ((item.node_id,), 1)
    assert delivery.ingest_light(cardinal.services, due) == ((), left)


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_delivery_that_costs_calls_is_parsed_once(cardinal: Cardinal) -> None:
    cardinal.say(cardinal.at_work(), "/cardinal status")
    while cardinal.mail:
        cardinal.receive(cardinal.mail.popleft())
    due = inbox.due_deliveries(cardinal.services.engine, limit=100)
    parsed: list[str] = []

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is events.read.__code__:
            parsed.append(frame.f_locals["event"])

    sys.setprofile(count)
    try:
        _, failed = jobs.ingest_together(cardinal.process, due)
    finally:
        sys.setprofile(None)
    assert (failed, parsed) == ((), ["issue_comment"])


def test_a_delivery_whose_worker_was_killed_is_left_and_not_forgotten(cardinal: Cardinal) -> None:
    engine = cardinal.services.engine
    dragged(cardinal, 2)
    first, second = inbox.due_deliveries(engine, limit=100)
    assert inbox.claim(engine, first, lease_s=0)
    cards, left = delivery.ingest_light(cardinal.services, (first, second))
    assert (len(cards), left) == (1, {first: None})
    assert delivery.ingest_light(cardinal.services, (first,)) == ((), {first: None})


def test_a_delivery_that_cannot_be_recorded_with_others_holds_up_none_and_its_attempts_end(
    cardinal: Cardinal,
) -> None:
    engine = cardinal.services.engine
    dragged(cardinal, 2)
    bad, good = inbox.due_deliveries(engine, limit=100)
    refuse = f"""CREATE TRIGGER bad BEFORE INSERT ON inbox WHEN NEW.delivery_id = '{bad}'
        AND NEW.state = 'done' BEGIN SELECT RAISE(ABORT, 'broken on purpose'); END"""
    with event_store.writing(engine) as db:
        db.exec_driver_sql(refuse)
    for _ in range(delivery.MAX_ATTEMPTS):
        _, failed = jobs.ingest_together(cardinal.services, (bad, good))
        assert [error.delivery_id for error in failed] == [bad]
    with event_store.reading(engine) as db:
        assert [quarantined.delivery_id for quarantined in inbox.list_quarantined(db)] == [bad]
        assert inbox.delivery_counts(db)["waiting"] == 0


def test_deliveries_that_say_nothing_are_settled_together(cardinal: Cardinal) -> None:
    engine = cardinal.services.engine
    for n in range(20):
        inbox.store_deliveries(
            engine, inbox.Delivery(DeliveryId(f"star-{n}"), "star", "created", b"{}", cardinal.clock())
        )
    due = inbox.due_deliveries(engine, limit=100)
    with traced(engine) as statements:
        assert delivery.ingest_light(cardinal.services, due) == ((), {})
    assert len([sql for sql in statements if sql.startswith("DELETE FROM inbox")]) == 1
    with event_store.reading(engine) as db:
        assert inbox.delivery_counts(db)["done"] >= len(due)


def test_places_on_faces_move_up_at_a_tick_and_only_those_that_changed(cardinal: Cardinal) -> None:
    items = dragged(cardinal, 3)
    card.sync_cards(cardinal.services, ingested(cardinal))
    cardinal.catch_up()
    assert cardinal.face(items[2])["Run"].endswith("3rd in the queue")
    cardinal.forge.store.projects.delete_item(items[0], actor=cardinal.person("alice"))
    cardinal.catch_up()
    ticker.write_places(cardinal.services)
    cardinal.catch_up()
    assert cardinal.face(items[2])["Run"].endswith("2nd in the queue")
    cardinal.forge.gateway.calls.clear()
    ticker.write_places(cardinal.services)
    cardinal.catch_up()
    assert cardinal.calls("SetFields") == []


def test_a_card_that_cannot_be_recorded_holds_up_no_other(cardinal: Cardinal) -> None:
    items = [cardinal.new(f"Card {n}") for n in range(3)]
    cardinal.catch_up()
    for item, who in zip(items, ("alice", "bob", "alice"), strict=True):
        cardinal.drag(item, "In Progress", who=who)
    while cardinal.mail:
        cardinal.receive(cardinal.mail.popleft())
    refused = {"method": "GET", "path": "/collaborators/bob/", "status": 403, "count": 2}
    cardinal.forge.store.faults.load({"api": [refused]})
    with pytest.raises(GithubError):
        jobs.sync_together(cardinal.services, ingested(cardinal))
    assert {event.card_id for event in cardinal.events(CardMoved)} == {items[0].node_id, items[2].node_id}
    assert card.sync_card(cardinal.services, CardId(items[1].node_id))
    assert len(cardinal.events(CardMoved)) == 3
