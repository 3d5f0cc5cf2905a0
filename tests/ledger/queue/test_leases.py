"""Leases, cursors and refresh requests: who works on what, how far a reader is, which card to look at."""

import pytest
from sqlalchemy import Engine

from ledger.errors import LateWriterError, StaleClaimError
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queue import leases, refresh_requests
from tests.ledger.samples import BOARD, CARD, NOW, later
from tests.ledgers import Hand


def test_a_lease_belongs_to_one_until_it_runs_out(ledger: Engine, hand: Hand) -> None:
    with event_store.writing(ledger) as db:
        hand.at = NOW
        first = leases.take(db, "run:r1", "w1", ttl_s=10)
        hand.at = later(9)
        assert leases.take(db, "run:r1", "w2", ttl_s=10) is None
        assert first is not None
        hand.at = later(9)
        renewed = leases.renew(db, first, ttl_s=10)
        assert renewed.until == later(19)
        hand.at = later(19)
        second = leases.take(db, "run:r1", "w2", ttl_s=10)
        assert second is not None
        assert (first.generation, second.generation) == (1, 2)
        hand.at = later(20)
        with pytest.raises(StaleClaimError):
            leases.renew(db, renewed, ttl_s=10)


def test_a_released_lease_is_free_at_once_and_its_generation_never_comes_back(
    ledger: Engine, hand: Hand
) -> None:
    with event_store.writing(ledger) as db:
        hand.at = NOW
        first = leases.take(db, "run:r1", "w1", ttl_s=10)
        assert first is not None
        leases.release(db, first)
        with pytest.raises(StaleClaimError, match="nobody"):
            leases.require(db, "run:r1", first.generation)
        assert leases.generation(db, "run:r1") == 1
        hand.at = later(1)
        second = leases.take(db, "run:r1", "w2", ttl_s=10)
        assert second is not None
        leases.release(db, first)  # the late one: nothing happens
        leases.require(db, "run:r1", second.generation)
        assert second.generation == 2


def test_a_holder_that_restarts_takes_its_own_lease_with_a_new_generation(ledger: Engine, hand: Hand) -> None:
    with event_store.writing(ledger) as db:
        hand.at = NOW
        leases.take(db, "run:r1", "w1", ttl_s=10)
        hand.at = later(1)
        again = leases.take(db, "run:r1", "w1", ttl_s=10)
        assert again is not None
        assert again.generation == 2


def test_only_leases_that_ran_out_and_were_not_released_are_expired(ledger: Engine, hand: Hand) -> None:
    with event_store.writing(ledger) as db:
        for name, ttl_s in (("run:r1", 5), ("run:r2", 50), ("run:r3", 5), ("tick:x", 5), ("run%", 5)):
            hand.at = NOW
            lease = leases.take(db, name, "w1", ttl_s=ttl_s)
            if name == "run:r3" and lease is not None:
                leases.release(db, lease)
        hand.at = later(5)
        assert [lease.name for lease in leases.list_expired(db, "run:")] == ["run:r1"]
        assert [lease.name for lease in leases.list_expired(db, "run%")] == ["run%"]


def test_what_is_done_now_and_then_is_due_once_whoever_asks(ledger: Engine, hand: Hand) -> None:
    with event_store.writing(ledger) as db:
        asked = []
        for seconds in (0, 0, 9, 10, 19, 20):
            hand.at = later(seconds)
            asked.append(leases.due(db, "access", every_s=10))
    assert asked == [True, False, False, True, False, True]


def test_a_reader_moves_only_from_where_it_is(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        assert event_store.position(db, "react") == 0
        event_store.advance_cursor(db, "react", before=0, after=7)
        event_store.advance_cursor(db, "react", before=7, after=9)
    with pytest.raises(LateWriterError), event_store.writing(ledger) as db:
        event_store.advance_cursor(db, "react", before=7, after=8)
    with event_store.reading(ledger) as db:
        assert (event_store.position(db, "react"), event_store.position(db, "other")) == (9, 0)


def test_refresh_requests_that_wait_together_are_answered_by_one_read(ledger: Engine, hand: Hand) -> None:
    with event_store.writing(ledger) as db:
        assert refresh_requests.add(db, CARD, BOARD) == 1
        hand.at = later(1)
        assert refresh_requests.add(db, CARD, BOARD) == 2
        (request,) = refresh_requests.list_requested_cards(db, 10)
        assert (request.card_id, request.board_id) == (CARD, BOARD)
        assert (request.requested, request.requested_at) == (2, NOW)
        assert refresh_requests.add(db, CARD, BOARD) == 3  # while somebody looks
        refresh_requests.mark_served(db, CARD, request.requested)
        assert refresh_requests.counts(db, CARD) == (3, 2)
        assert len(refresh_requests.list_requested_cards(db, 10)) == 1
        refresh_requests.mark_served(db, CARD, 3)
        refresh_requests.mark_served(db, CARD, 1)
        assert refresh_requests.counts(db, CARD) == (3, 3)
        assert refresh_requests.list_requested_cards(db, 10) == ()


def test_moves_that_deliveries_told_are_news_until_they_are_recorded(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        refresh_requests.add(db, CARD, BOARD, refresh_requests.Move(later(12), "back"))
        refresh_requests.add(db, CARD, BOARD, refresh_requests.Move(later(10), "out"))  # late, and older
        assert refresh_requests.came_to(db, CARD, "out") is None
        assert refresh_requests.came_to(db, CARD, "back") == later(12)
        refresh_requests.mark_recorded(db, CARD, BOARD, later(12))
        refresh_requests.mark_recorded(db, CARD, BOARD, later(5))
        refresh_requests.add(db, CARD, BOARD, refresh_requests.Move(later(12), "back"))
        assert refresh_requests.came_to(db, CARD, "back") is None
        other = CardId("PVTI_9")
        refresh_requests.mark_recorded(db, other, BOARD, later(12))  # read, and never requested
        assert refresh_requests.list_requested_cards(db, 10) == refresh_requests.list_requested_cards(db, 1)
        assert refresh_requests.add(db, other, BOARD, refresh_requests.Move(later(11), "x")) == 1
        assert refresh_requests.came_to(db, other, "x") is None
