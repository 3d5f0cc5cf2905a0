"""Cards of a schedule: which are open, so that they hold back the next."""

from datetime import timedelta

from sqlalchemy import Engine

from ledger.events.access import RepositoryMoved
from ledger.events.board import IssueClosed
from ledger.events.publication import EntryGivenUp
from ledger.events.schedule import ScheduledCardMade, ScheduleDue, ScheduleSet
from ledger.ids import CardId, EntryKey
from ledger.log import event_store
from ledger.views import schedules
from tests.ledger.samples import BOARD, NOW, card_seen

DAY = timedelta(days=1)


def test_a_card_to_come_holds_back_the_next_and_one_that_was_given_up_does_not(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        event_store.append(
            db,
            ScheduleSet(BOARD, "deps", "every 1d", NOW),
            ScheduleDue(BOARD, "deps", NOW, NOW + DAY),
            ScheduleDue(BOARD, "deps", NOW + DAY, NOW + 2 * DAY),
            ScheduleDue(BOARD, "deps", NOW + 2 * DAY, NOW + 3 * DAY, "two are open"),
            at=NOW,
        )
        assert schedules.count_open(db, BOARD, "deps", NOW) == 2
        row = schedules.get(db, BOARD, "deps")
        assert row is not None
        assert row.next_at == NOW + 3 * DAY
        key = EntryKey(schedules.schedule_key(BOARD, "deps", NOW))
        gone = EntryGivenUp(CardId(BOARD), key, "create_scheduled_card", "no such repository")
        event_store.append(db, gone, ScheduledCardMade(BOARD, "deps", NOW + DAY, "acme/shop", 7), at=NOW)
        assert schedules.count_open(db, BOARD, "deps", NOW) == 1


def test_a_card_that_was_transferred_or_deleted_holds_back_the_next_for_a_day_and_a_renamed_place_is_followed(
    ledger: Engine,
) -> None:
    with event_store.writing(ledger) as db:
        event_store.append(
            db,
            ScheduleSet(BOARD, "deps", "every 1d", NOW),
            ScheduleDue(BOARD, "deps", NOW, NOW + DAY),
            ScheduledCardMade(BOARD, "deps", NOW, "acme/shop", 7),
            at=NOW,
        )
        assert schedules.count_open(db, BOARD, "deps", NOW) == 1  # nobody has read it yet
        assert schedules.count_open(db, BOARD, "deps", NOW + DAY) == 0
        event_store.append(db, card_seen("c1", number=7), at=NOW)
        assert schedules.count_open(db, BOARD, "deps", NOW + DAY) == 0
        event_store.append(db, RepositoryMoved(BOARD, "acme/shop", "acme/app"), at=NOW)
        assert schedules.count_open(db, BOARD, "deps", NOW + DAY) == 1
        event_store.append(db, IssueClosed(CardId("c1"), "completed", "ann"), at=NOW)
        assert schedules.count_open(db, BOARD, "deps", NOW + DAY) == 0


def test_two_events_of_one_second_make_two_cards_and_each_is_known(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        for event in ("run-7", "run-8"):
            assert not schedules.is_recorded(db, BOARD, "red", NOW, event)
            event_store.append(db, ScheduleDue(BOARD, "red", NOW, NOW, event=event), at=NOW)
            assert schedules.is_recorded(db, BOARD, "red", NOW, event)
        assert schedules.count_open(db, BOARD, "red", NOW) == 2
        key = EntryKey(schedules.schedule_key(BOARD, "red", NOW, "run-8"))
        gone = EntryGivenUp(CardId(BOARD), key, "create_scheduled_card", "no such repository")
        scheduled_card_made = ScheduledCardMade(BOARD, "red", NOW, "acme/shop", 7, "run-7")
        event_store.append(db, gone, scheduled_card_made, card_seen("c1", number=7), at=NOW)
        assert schedules.count_open(db, BOARD, "red", NOW) == 1
        assert schedules.is_made(db, BOARD, "acme/shop", 7)
