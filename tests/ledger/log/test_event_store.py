"""The log keeps what it is given, in order, once, and refuses who comes late."""

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DatabaseError

from ledger.errors import IllegalStepError, LateWriterError, StaleClaimError, UnfitEventError
from ledger.event import Event
from ledger.events.run import Progressed, RunClaimed, RunEnded, RunStepped, UsageMetered
from ledger.ids import RunId
from ledger.log import event_store
from ledger.queue import leases
from ledger.states import Ending, RunState
from ledger.views import cards, runs
from tests.ledger.samples import CARD, NOW, RUN, board_seen, card_seen, later, run_queued
from tests.ledgers import Hand


def test_events_come_back_in_order_with_versions_by_stream(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        first = event_store.append(db, board_seen(), card_seen(), run_queued(), at=NOW)
        second = event_store.append(db, Progressed(RUN, "half"), at=later(1))
    with event_store.reading(ledger) as db:
        assert event_store.read(db) == first + second
        assert [(recorded.stream, recorded.version) for recorded in second] == [("run:r1", 2)]
        assert event_store.read(db, after=2, limit=1) == first[2:]
        assert event_store.read(db, stream=f"card:{CARD}") == first[1:2]
        assert (
            event_store.last_seq(db),
            event_store.stream_version(db, "run:r1"),
            event_store.stream_version(db, "run:r9"),
        ) == (4, 2, 0)


def test_a_writer_that_comes_late_loses_and_leaves_nothing(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        event_store.append(db, run_queued(), at=NOW, expected=0)
    with pytest.raises(LateWriterError) as late, event_store.writing(ledger) as db:
        event_store.append(db, Progressed(RUN, "mine"), at=NOW, expected=0)
    assert (late.value.expected, late.value.actual) == (0, 1)
    with event_store.reading(ledger) as db:
        assert event_store.last_seq(db) == 1


def test_a_writer_whose_claim_was_taken_over_is_refused(ledger: Engine, hand: Hand) -> None:
    with event_store.writing(ledger) as db:
        old = leases.take(db, "run:r1", "w1", ttl_s=10)
        assert old is not None
        event_store.append(db, run_queued(), at=NOW, fence=event_store.Fence("run:r1", old.generation))
        hand.at = later(11)
        assert leases.take(db, "run:r1", "w2", ttl_s=10) is not None
    with pytest.raises(StaleClaimError, match="generation 2"), event_store.writing(ledger) as db:
        event_store.append(
            db, Progressed(RUN, "ghost"), at=NOW, fence=event_store.Fence("run:r1", old.generation)
        )
    with pytest.raises(StaleClaimError, match="nobody"), event_store.writing(ledger) as db:
        event_store.append(db, Progressed(RUN, "ghost"), at=NOW, fence=event_store.Fence("run:r7", 1))


def test_a_step_that_a_run_cannot_take_is_refused(ledger: Engine) -> None:
    ended = RunEnded(RUN, Ending.SUCCEEDED, "", "", "working")
    refused: tuple[Event, ...] = (
        RunStepped(RUN, RunState.QUEUED, RunState.PUBLISHING),
        RunStepped(RUN, RunState.WORKING, RunState.VALIDATING),
        run_queued(),
    )
    with event_store.writing(ledger) as db:
        event_store.append(db, run_queued(), at=NOW)
    event: Event
    for event in refused:
        with pytest.raises(IllegalStepError), event_store.writing(ledger) as db:
            event_store.append(db, event, at=NOW)
    with event_store.writing(ledger) as db:
        event_store.append(db, ended, at=NOW)
    for event in (ended, RunClaimed(RUN, 1, "w")):
        with pytest.raises(IllegalStepError), event_store.writing(ledger) as db:
            event_store.append(db, event, at=NOW)


@pytest.mark.parametrize(
    "event",
    [
        Progressed(RUN, 7),  # type: ignore[arg-type]
        RunStepped(RUN, "queued", "nowhere"),  # type: ignore[arg-type]
        UsageMetered(RUN, float("nan"), 0, 0, 0, 0.0),
        UsageMetered(RUN, 0.0, "many", 0, 0, 0.0),  # type: ignore[arg-type]
    ],
)
def test_a_field_of_the_wrong_type_never_reaches_the_log(
    ledger: Engine, event: Progressed | RunStepped | UsageMetered
) -> None:
    with pytest.raises(UnfitEventError), event_store.writing(ledger) as db:
        event_store.append(db, event, at=NOW)


def test_hostile_text_is_kept_or_replaced_but_never_breaks_a_view(ledger: Engine) -> None:
    title = "'; DROP TABLE events; -- \x00 \ud800 <script> 🐦"
    with event_store.writing(ledger) as db:
        event_store.append(db, run_queued(), Progressed(RUN, title), at=NOW)
    with event_store.reading(ledger) as db:
        event = event_store.read(db)[-1].event
        run = runs.get(db, RUN)
    assert isinstance(event, Progressed)
    assert event.text == title.replace("\ud800", "\ufffd")
    assert run is not None
    assert run.last_line == title.replace("\ud800", "\ufffd").replace("\x00", "\ufffd")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET body = '{}' WHERE seq = 1",
        "DELETE FROM events",
        "INSERT INTO events SELECT 0, stream, 99, at, kind, body, digest FROM events",
        "INSERT OR REPLACE INTO events SELECT seq, stream, version, at, kind, '{}', digest FROM events",
        "TRUNCATE events",
    ],
)
def test_the_database_itself_refuses_to_change_events(ledger: Engine, statement: str) -> None:
    sqlite = ledger.dialect.name == "sqlite"
    with event_store.writing(ledger) as db:
        event_store.append(db, card_seen(), at=NOW)
    if statement.startswith("TRUNCATE") and sqlite:
        statement = "DELETE FROM events WHERE 1"
    if statement.startswith("INSERT") and not sqlite:
        statement = (
            "INSERT INTO events SELECT * FROM events ON CONFLICT (seq) DO UPDATE SET body = excluded.kind"
        )
    with pytest.raises(DatabaseError, match="event"), event_store.writing(ledger) as db:
        db.execute(text(statement))
    with event_store.reading(ledger) as db:
        assert event_store.read(db)[0].event == card_seen()


def test_a_reader_cannot_write(ledger: Engine) -> None:
    with pytest.raises(DatabaseError), event_store.reading(ledger) as db:
        event_store.append(db, card_seen(), at=NOW)
    with event_store.writing(ledger) as db:
        event_store.append(db, card_seen(), at=NOW)


def test_after_an_error_the_next_transaction_begins_anew(ledger: Engine) -> None:
    for using in (event_store.writing, event_store.reading):
        with suppress(InterruptedError), using(ledger) as db:
            if using is event_store.writing:
                event_store.append(db, card_seen(), at=NOW)
            raise InterruptedError
    with event_store.writing(ledger) as db, event_store.reading(ledger) as other:
        assert event_store.last_seq(db) == 0
        event_store.append(db, card_seen(), at=NOW)
        assert event_store.last_seq(other) == 0


def test_a_reader_sees_one_moment(ledger: Engine) -> None:
    with event_store.reading(ledger) as before:
        assert cards.get(before, CARD) is None
        with event_store.writing(ledger) as db:
            event_store.append(db, card_seen(), at=NOW)
        assert cards.get(before, CARD) is None
    with event_store.reading(ledger) as after:
        assert cards.get(after, CARD) is not None


def test_a_moment_without_a_time_zone_is_refused(ledger: Engine) -> None:
    with pytest.raises(ValueError, match="time zone"), event_store.writing(ledger) as db:
        event_store.append(db, Progressed(RunId("r1"), "x"), at=datetime(2026, 1, 1))
    with event_store.writing(ledger) as db:
        (recorded,) = event_store.append(db, Progressed(RunId("r1"), "x"), at=datetime.now().astimezone())
    assert recorded.at.tzinfo is UTC
