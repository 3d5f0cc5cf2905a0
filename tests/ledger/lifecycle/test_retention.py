"""Rows beside the events go once nobody needs them, and not before."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Engine, select

from ledger.db.tables import CORE, ExaminationSubject, api_tokens, hosts, inbox, leases
from ledger.db.tables import change_reports as report_table
from ledger.events.run import RunEnded
from ledger.ids import CardId, DeliveryId, RunId
from ledger.lifecycle.retention import drop_old
from ledger.log import event_store
from ledger.queue import api_tokens as tokens
from ledger.queue import change_reports, examinations
from ledger.queue import hosts as hosts_queue
from ledger.queue import inbox as deliveries
from ledger.queue import leases as claims
from ledger.states import Ending
from tests.ledger.samples import CARD, NOW, board_seen, card_seen, run_queued
from tests.ledgers import Hand

OLD, YOUNG = NOW - timedelta(days=11), NOW - timedelta(days=9)
VERY_OLD = NOW - timedelta(days=91)


def drop(ledger: Engine, limit: int = 99) -> dict[str, int]:
    return drop_old(ledger, age=timedelta(days=10), age_for_people=timedelta(days=90), limit=limit)


def names(ledger: Engine, table: str, column: str) -> set[object]:
    with event_store.reading(ledger) as db:
        return {*db.scalars(select(CORE.tables[table].c[column]))}


def lease(ledger: Engine, hand: Hand, name: str, at: datetime, *, released: bool = True) -> None:
    hand.at = at
    with event_store.writing(ledger) as db:
        taken = claims.take(db, name, "somebody", ttl_s=1)
        assert taken is not None
        if released:
            claims.release(db, taken)


def test_a_lease_goes_once_it_is_old_and_nobody_holds_it_and_a_run_s_once_that_has_ended(
    ledger: Engine, hand: Hand
) -> None:
    with event_store.writing(ledger) as db:
        story = (board_seen(), card_seen(), run_queued("r1"), run_queued("r2", attempt=2))
        event_store.append(
            db, *story, RunEnded(RunId("r1"), Ending.CANCELLED, "cancelled", "", "queued"), at=OLD
        )
    for name in ("run:r1", "run:r2", "run:r9", "look:c1", "look:c2"):
        lease(ledger, hand, name, OLD)
    lease(ledger, hand, "look:c3", OLD, released=False)  # whoever mends what it left looks for it
    lease(ledger, hand, "look:c4", YOUNG)
    with event_store.writing(ledger) as db:
        hand.at = OLD
        assert claims.due(db, "checks:c1", every_s=1)
    hand.at = NOW
    assert drop(ledger, limit=2)["leases"] == 2
    assert drop(ledger)["leases"] == 3
    assert names(ledger, leases.name, "name") == {"run:r2", "look:c3", "look:c4"}


def test_what_people_see_in_lists_stays_for_a_season(ledger: Engine, hand: Hand) -> None:
    for at, name in ((VERY_OLD, "gone"), (OLD, "stays")):
        hand.at = at
        deliveries.store_deliveries(ledger, deliveries.Delivery(DeliveryId(name), "push", "", b"{}", at))
        claimed = deliveries.claim(ledger, DeliveryId(name), lease_s=9)
        assert claimed is not None
        assert deliveries.record_failure(ledger, claimed, "x", retry_in_s=1, max_attempts=1)
        with event_store.writing(ledger) as db:
            tokens.make(db, name, login="a", user_id=1, scopes=("read",), now=at, lives=timedelta(seconds=1))
            for host in (name, f"drained {name}"):
                hosts_queue.beat(db, host, slots=1, labels=(), version="1")
            hosts_queue.drain(db, f"drained {name}", drained=True)
            examinations.record_examination(db, name, ExaminationSubject.HOST, "doctor", ())
    with event_store.writing(ledger) as db:
        lives: dict[str, Any] = {
            "login": "a",
            "user_id": 1,
            "scopes": ("read",),
            "lives": timedelta(days=365),
        }
        tokens.make(db, "lives", now=VERY_OLD, **lives)
        for name, at in (("revoked", OLD), ("revoked long ago", VERY_OLD)):
            _, revoked = tokens.make(db, name, now=VERY_OLD, **lives)
            tokens.revoke(db, revoked.token_id, at)
    hand.at = NOW
    drop(ledger)
    assert names(ledger, inbox.name, "delivery_id") == {"stays"}
    assert names(ledger, api_tokens.name, "name") == {"stays", "lives", "revoked"}
    assert names(ledger, hosts.name, "name") == {"stays", "drained stays", "drained gone"}
    assert names(ledger, "examinations", "host") == {"stays"}


def test_reports_of_changes_that_nobody_looked_for_go(ledger: Engine, hand: Hand) -> None:
    with event_store.writing(ledger) as db:
        for at, sender in ((OLD, "ann"), (YOUNG, "bob")):
            report = change_reports.ChangeReport(sender, change_reports.About.LABEL, "x", at)
            change_reports.add_report(db, CardId(CARD), report)
    hand.at = NOW
    assert drop(ledger)["reports of changes"] == 1
    assert names(ledger, report_table.name, "sender") == {"bob"}
