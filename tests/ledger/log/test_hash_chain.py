"""Nobody changes the past unseen."""

import pytest
from sqlalchemy import Connection, Engine, select, text

from ledger.codec import encode
from ledger.db.tables import events
from ledger.errors import BrokenChainError
from ledger.events.run import Progressed
from ledger.log import event_store
from ledger.log.hash_chain import GENESIS, ChainReport, link, verify_chain
from tests.ledger.samples import NOW, RUN, run_queued

TAMPERINGS = {
    "body": ("UPDATE events SET body = replace(body, 'line 3', 'line X') WHERE seq = 4", 4),
    "time": ("UPDATE events SET at = '2020-01-01T00:00:00.000000Z' WHERE seq = 2", 2),
    "kind": ("UPDATE events SET kind = 'AgentSaid' WHERE seq = 5", 5),
    "digest": (f"UPDATE events SET digest = '{GENESIS}' WHERE seq = 3", 3),
    "gap": ("DELETE FROM events WHERE seq = 3", 4),
    "first": ("DELETE FROM events WHERE seq = 1", 2),
}


@pytest.fixture
def filled(ledger: Engine) -> Engine:
    """Return a ledger with eleven events."""
    with event_store.writing(ledger) as db:
        event_store.append(db, run_queued(), *[Progressed(RUN, f"line {n}") for n in range(1, 11)], at=NOW)
    return ledger


def unguard(db: Connection) -> None:
    """Do what somebody with the database's password can do."""
    if db.dialect.name == "sqlite":
        db.execute(text("DROP TRIGGER events_no_update"))
        db.execute(text("DROP TRIGGER events_no_delete"))
    else:
        db.execute(text("ALTER TABLE events DISABLE TRIGGER USER"))


def test_an_untouched_log_verifies_as_a_whole_and_up_to_an_event(filled: Engine) -> None:
    with event_store.reading(filled) as db:
        chain_report = verify_chain(db)
        half = verify_chain(db, upto=5)
    assert (chain_report.events, half.events) == (11, 5)
    assert chain_report.head != half.head


def test_an_empty_log_verifies(ledger: Engine) -> None:
    with event_store.reading(ledger) as db:
        assert verify_chain(db) == ChainReport(0, GENESIS)


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_behind_the_guards_is_found_at_its_event(filled: Engine, name: str) -> None:
    statement, seq = TAMPERINGS[name]
    with event_store.writing(filled) as db:
        unguard(db)
        db.execute(text(statement))
    with event_store.reading(filled) as db, pytest.raises(BrokenChainError) as broken:
        verify_chain(db)
    assert broken.value.seq == seq


def test_an_event_that_was_forged_with_a_digest_of_its_own_breaks_the_next_one(filled: Engine) -> None:
    with event_store.writing(filled) as db:
        unguard(db)
        before = db.scalar(select(events.c.digest).where(events.c.seq == 3))
        kind, body = encode(Progressed(RUN, "never said"))
        digest = link(str(before), 4, "run:r1", 4, NOW, kind=kind, body=body)
        db.execute(events.update().where(events.c.seq == 4).values(body=body, digest=digest))
        assert verify_chain(db, upto=4).head == digest
        with pytest.raises(BrokenChainError) as broken:
            verify_chain(db)
    assert broken.value.seq == 5
