"""A delivery is kept once, recorded by one worker, and never lost by a failure."""

from dataclasses import replace

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError

from ledger.db.clock import database_now
from ledger.errors import StaleClaimError
from ledger.ids import DeliveryId
from ledger.log import event_store
from ledger.queue import inbox
from tests.ledger.samples import NOW, later
from tests.ledgers import Hand

ID = DeliveryId("72d3162e")


def delivery(delivery_id: str = ID, payload: bytes = b'{"action":"opened"}') -> inbox.Delivery:
    return inbox.Delivery(DeliveryId(delivery_id), "issues", "opened", payload, NOW)


def test_a_repeated_delivery_is_kept_once(ledger: Engine) -> None:
    assert inbox.store_deliveries(ledger, delivery())
    assert not inbox.store_deliveries(ledger, delivery())
    with event_store.reading(ledger) as db:
        assert inbox.delivery_counts(db) == {"waiting": 1, "claimed": 0, "done": 0, "quarantined": 0}


def test_one_worker_gets_a_delivery_until_its_claim_runs_out(ledger: Engine, hand: Hand) -> None:
    inbox.store_deliveries(ledger, delivery())
    hand.at = NOW
    assert inbox.claim(ledger, ID, lease_s=60) == replace(delivery(), attempt=1)
    hand.at = later(59)
    assert inbox.claim(ledger, ID, lease_s=60) is None
    hand.at = later(59)
    assert inbox.due_deliveries(ledger, limit=9) == ()
    hand.at = later(60)
    assert inbox.due_deliveries(ledger, limit=9) == (ID,)
    hand.at = later(60)
    assert inbox.claim(ledger, ID, lease_s=60) == replace(delivery(), attempt=2)


def test_who_lost_its_claim_can_neither_settle_nor_give_back(ledger: Engine, hand: Hand) -> None:
    inbox.store_deliveries(ledger, delivery())
    hand.at = NOW
    slow = inbox.claim(ledger, ID, lease_s=60)
    hand.at = later(60)
    other = inbox.claim(ledger, ID, lease_s=60)
    assert slow is not None
    assert other is not None
    with pytest.raises(StaleClaimError), event_store.writing(ledger) as db:
        inbox.settle(db, slow, later(61))
    hand.at = later(61)
    assert not inbox.record_failure(ledger, slow, "late", retry_in_s=1, max_attempts=1)
    with event_store.writing(ledger) as db:
        assert inbox.delivery_counts(db)["claimed"] == 1
        inbox.settle(db, other, later(62))
        assert inbox.delivery_counts(db)["done"] == 1


def test_a_settled_delivery_is_done_for_good(ledger: Engine, hand: Hand) -> None:
    inbox.store_deliveries(ledger, delivery())
    hand.at = NOW
    claimed = inbox.claim(ledger, ID, lease_s=60)
    assert claimed is not None
    with event_store.writing(ledger) as db:
        inbox.settle(db, claimed, NOW)
    hand.at = later(9999)
    assert inbox.claim(ledger, ID, lease_s=60) is None
    hand.at = later(9999)
    assert inbox.due_deliveries(ledger, limit=9) == ()
    assert not inbox.store_deliveries(ledger, delivery())


def test_deliveries_that_are_done_leave_the_pages_of_their_payloads(sqlite_ledger: Engine) -> None:
    def pages() -> int:
        with event_store.reading(sqlite_ledger) as db:
            sizes = [
                db.exec_driver_sql(f"PRAGMA {it}").scalar_one() for it in ("page_count", "freelist_count")
            ]
        return int(sizes[0]) - int(sizes[1])

    before, ids = pages(), [DeliveryId(f"{number:032x}") for number in range(64)]
    for number, delivery_id in enumerate(ids):
        inbox.store_deliveries(sqlite_ledger, delivery(delivery_id, b"x" * 12_000))
        claimed = inbox.claim(sqlite_ledger, delivery_id, lease_s=60) if number % 2 else None
        with event_store.writing(sqlite_ledger) as db:
            if claimed is None:
                assert inbox.settle_waiting(db, [delivery_id], NOW) == 1
            else:
                inbox.settle(db, claimed, NOW)
    assert pages() - before < len(ids) // 4
    with event_store.reading(sqlite_ledger) as db:
        kept = inbox.get(db, ids[1])
    assert kept == replace(delivery(ids[1], b"{}"), attempt=0)


def test_a_delivery_that_fails_too_often_is_quarantined_and_can_be_replayed(
    ledger: Engine, hand: Hand
) -> None:
    inbox.store_deliveries(ledger, delivery())
    outcomes = []
    for attempt in range(3):
        hand.at = later(attempt * 100)
        claimed = inbox.claim(ledger, ID, lease_s=60)
        assert claimed is not None
        outcomes.append(inbox.record_failure(ledger, claimed, f"no {attempt}", retry_in_s=30, max_attempts=3))
        hand.at = later(attempt * 100 + 29)
        assert inbox.due_deliveries(ledger, limit=9) == ()
    assert outcomes == [False, False, True]
    with event_store.writing(ledger) as db:
        (quarantined,) = inbox.list_quarantined(db)
        assert (quarantined.delivery_id, quarantined.attempts, quarantined.error) == (ID, 3, "no 2")
        assert inbox.replay(db, ID)
        assert not inbox.replay(db, ID)
    hand.at = later(300)
    assert inbox.due_deliveries(ledger, limit=9) == (ID,)


def test_the_oldest_delivery_is_due_first(ledger: Engine, hand: Hand) -> None:
    for age, name in ((2, "b"), (1, "a"), (3, "c")):
        hand.at = later(-age)
        inbox.store_deliveries(ledger, delivery(name))
    hand.at = NOW
    assert inbox.due_deliveries(ledger, limit=2) == ("c", "b")


@pytest.mark.parametrize("payload", [b'{"t":"\xff\xfe"}', b'{"t":"a\x00b"}', '{"t":"\U0001f426"}'.encode()])
def test_bytes_that_are_no_text_do_not_lose_the_delivery(ledger: Engine, payload: bytes) -> None:
    assert inbox.store_deliveries(ledger, delivery(payload=payload))
    kept_delivery = inbox.claim(ledger, ID, lease_s=60)
    assert kept_delivery is not None
    assert kept_delivery.payload.startswith(b'{"t":"')


def settled(ledger: Engine, *names: str) -> None:
    """Store these deliveries and let them be done now."""
    inbox.store_deliveries(ledger, *(delivery(name) for name in names))
    for name in names:
        claimed = inbox.claim(ledger, DeliveryId(name), lease_s=60)
        assert claimed is not None
        with event_store.writing(ledger) as db:
            inbox.settle(db, claimed, database_now(db))


def test_a_group_is_kept_whole_and_its_repeats_once(ledger: Engine) -> None:
    inbox.store_deliveries(ledger, delivery("a"))
    names = ["a", "b", "b", *(f"n{number}" for number in range(2 * inbox.MAX_ROWS))]
    assert inbox.store_deliveries(ledger, *(delivery(name) for name in names)) == {*names} - {"a"}
    assert inbox.store_deliveries(ledger, *(delivery(name) for name in names)) == frozenset()
    with event_store.reading(ledger) as db:
        assert inbox.delivery_counts(db)["waiting"] == len({*names})


def test_a_group_of_which_a_row_is_refused_is_not_kept_at_all(ledger: Engine) -> None:
    broken = replace(delivery("b"), delivery_id=None)  # type: ignore[arg-type]
    with pytest.raises(IntegrityError):
        inbox.store_deliveries(ledger, delivery("a"), broken, delivery("c"))
    assert inbox.due_deliveries(ledger, limit=9) == ()


def test_only_old_deliveries_that_are_done_are_dropped_and_no_more_than_the_limit(
    ledger: Engine, hand: Hand
) -> None:
    hand.at = later(-100)
    inbox.store_deliveries(ledger, delivery("waits"))
    for age, name in ((30, "c"), (20, "d"), (10, "e"), (50, "a"), (40, "b")):
        hand.at = later(-age)
        settled(ledger, name)
    hand.at = NOW

    def drop_done(limit: int) -> int:
        with event_store.writing(ledger) as db:
            return inbox.drop_done(db, later(-20), limit)

    assert drop_done(2) == 2
    with event_store.reading(ledger) as db:
        assert [name for name in "abcde" if inbox.is_known(db, DeliveryId(name))] == ["c", "d", "e"]
    assert drop_done(9) == 1
    assert drop_done(9) == 0
    assert inbox.due_deliveries(ledger, limit=9) == ("waits",)


def test_a_count_ends_at_its_limit(ledger: Engine) -> None:
    inbox.store_deliveries(ledger, *(delivery(f"n{number}") for number in range(inbox.MAX_COUNTED + 1)))
    with event_store.reading(ledger) as db:
        assert inbox.delivery_counts(db)["waiting"] == inbox.MAX_COUNTED
