"""A delivery is kept once, recorded by one worker, and never lost by a failure."""

from dataclasses import replace

import pytest
from sqlalchemy import Engine

from ledger.errors import StaleClaimError
from ledger.ids import DeliveryId
from ledger.log import event_store
from ledger.queue import inbox
from tests.ledger.samples import NOW, later

ID = DeliveryId("72d3162e")


def delivery(delivery_id: str = ID, payload: bytes = b'{"action":"opened"}') -> inbox.Delivery:
    return inbox.Delivery(DeliveryId(delivery_id), "issues", "opened", payload, NOW)


def test_a_repeated_delivery_is_kept_once(ledger: Engine) -> None:
    assert inbox.store(ledger, delivery())
    assert not inbox.store(ledger, delivery())
    with event_store.reading(ledger) as db:
        assert inbox.counts(db) == {"waiting": 1, "claimed": 0, "done": 0, "quarantined": 0}


def test_one_worker_gets_a_delivery_until_its_claim_runs_out(ledger: Engine) -> None:
    inbox.store(ledger, delivery())
    assert inbox.claim(ledger, ID, now=NOW, lease_s=60) == replace(delivery(), attempt=1)
    assert inbox.claim(ledger, ID, now=later(59), lease_s=60) is None
    assert inbox.due(ledger, now=later(59), limit=9) == ()
    assert inbox.due(ledger, now=later(60), limit=9) == (ID,)
    assert inbox.claim(ledger, ID, now=later(60), lease_s=60) == replace(delivery(), attempt=2)


def test_who_lost_its_claim_can_neither_settle_nor_give_back(ledger: Engine) -> None:
    inbox.store(ledger, delivery())
    slow = inbox.claim(ledger, ID, now=NOW, lease_s=60)
    other = inbox.claim(ledger, ID, now=later(60), lease_s=60)
    assert slow is not None
    assert other is not None
    with pytest.raises(StaleClaimError), event_store.writing(ledger) as db:
        inbox.settle(db, slow, later(61))
    assert not inbox.fail(ledger, slow, "late", now=later(61), retry_in_s=1, max_attempts=1)
    with event_store.writing(ledger) as db:
        assert inbox.counts(db)["claimed"] == 1
        inbox.settle(db, other, later(62))
        assert inbox.counts(db)["done"] == 1


def test_a_settled_delivery_is_done_for_good(ledger: Engine) -> None:
    inbox.store(ledger, delivery())
    claimed = inbox.claim(ledger, ID, now=NOW, lease_s=60)
    assert claimed is not None
    with event_store.writing(ledger) as db:
        inbox.settle(db, claimed, NOW)
    assert inbox.claim(ledger, ID, now=later(9999), lease_s=60) is None
    assert inbox.due(ledger, now=later(9999), limit=9) == ()
    assert not inbox.store(ledger, delivery())


def test_a_delivery_that_fails_too_often_is_quarantined_and_can_be_replayed(ledger: Engine) -> None:
    inbox.store(ledger, delivery())
    outcomes = []
    for attempt in range(3):
        claimed = inbox.claim(ledger, ID, now=later(attempt * 100), lease_s=60)
        assert claimed is not None
        outcomes.append(
            inbox.fail(
                ledger, claimed, f"no {attempt}", now=later(attempt * 100), retry_in_s=30, max_attempts=3
            )
        )
        assert inbox.due(ledger, now=later(attempt * 100 + 29), limit=9) == ()
    assert outcomes == [False, False, True]
    with event_store.writing(ledger) as db:
        (kept,) = inbox.quarantined(db)
        assert (kept.delivery_id, kept.attempts, kept.error) == (ID, 3, "no 2")
        assert inbox.replay(db, ID)
        assert not inbox.replay(db, ID)
    assert inbox.due(ledger, now=later(300), limit=9) == (ID,)


def test_the_oldest_delivery_is_due_first(ledger: Engine) -> None:
    for age, name in ((2, "b"), (1, "a"), (3, "c")):
        inbox.store(ledger, replace(delivery(name), received_at=later(-age)))
    assert inbox.due(ledger, now=NOW, limit=2) == ("c", "b")


@pytest.mark.parametrize("payload", [b'{"t":"\xff\xfe"}', b'{"t":"a\x00b"}', '{"t":"\U0001f426"}'.encode()])
def test_bytes_that_are_no_text_do_not_lose_the_delivery(ledger: Engine, payload: bytes) -> None:
    assert inbox.store(ledger, delivery(payload=payload))
    kept = inbox.claim(ledger, ID, now=NOW, lease_s=60)
    assert kept is not None
    assert kept.payload.startswith(b'{"t":"')
