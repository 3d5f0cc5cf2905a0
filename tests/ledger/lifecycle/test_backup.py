"""A back-up taken while others write is whole, and comes back only over what is older."""

import stat
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, select

from ledger.db.tables import VIEWS, cursors
from ledger.errors import BackupError, BrokenChainError, NewerLedgerError
from ledger.events.run import AgentSaid
from ledger.ids import DeliveryId, EntryKey, RunId
from ledger.lifecycle.backup import COPIED, backup, check_copy, restore
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from ledger.log.hash_chain import verify_chain
from ledger.queue import inbox, leases, outbox, restored
from tests.ledger.log.writers import append_one_by_one, play
from tests.ledger.queue.test_outbox import PLAIN
from tests.ledger.samples import NOW, board_seen, card_seen, run_queued
from tests.warm import Warm


def append(engine: Engine, count: int) -> None:
    with event_store.writing(engine) as db:
        event_store.append(db, *(AgentSaid(RunId("r1"), f"line {n}") for n in range(count)), at=NOW)


def test_a_back_up_taken_while_others_write_is_whole_and_can_be_restored(
    sqlite_ledger: Engine, tmp_path: Path
) -> None:
    append(sqlite_ledger, 50)
    url = str(sqlite_ledger.url)
    writers = [Warm(play, append_one_by_one, url, f"w{n}", 150) for n in range(2)]
    reports = [backup(sqlite_ledger, tmp_path / f"copy{n}.db") for n in range(5)]
    for writer in writers:
        writer.finish()
    counts = [report.events for report in reports]
    assert counts == sorted(counts)
    assert counts[0] >= 50
    with event_store.reading(sqlite_ledger) as db:
        assert verify_chain(db).events == 350
    place = f"sqlite:///{tmp_path}/restored/ledger.db"
    assert restore(tmp_path / "copy4.db", place) == reports[4]
    engine = open_ledger(place)
    append(engine, 1)
    with event_store.reading(engine) as db:
        assert verify_chain(db).events == counts[4] + 1
    engine.dispose()


def test_a_newer_ledger_is_replaced_only_when_told(sqlite_ledger: Engine, tmp_path: Path) -> None:
    append(sqlite_ledger, 3)
    backup(sqlite_ledger, tmp_path / "copy.db")
    append(sqlite_ledger, 2)
    sqlite_ledger.dispose()
    with pytest.raises(NewerLedgerError, match="event 5, newer than 3"):
        restore(tmp_path / "copy.db", str(sqlite_ledger.url))
    restore(tmp_path / "copy.db", str(sqlite_ledger.url), overwrite_newer=True)
    with event_store.reading(sqlite_ledger) as db:
        assert verify_chain(db).events == 3


def test_a_back_up_never_replaces_a_file(sqlite_ledger: Engine, tmp_path: Path) -> None:
    backup(sqlite_ledger, tmp_path / "copy.db")
    with pytest.raises(BackupError, match="exists"):
        backup(sqlite_ledger, tmp_path / "copy.db")
    assert sorted(path.name for path in tmp_path.glob("copy*")) == ["copy.db"]


def test_what_is_no_sound_ledger_is_not_restored(sqlite_ledger: Engine, tmp_path: Path) -> None:
    append(sqlite_ledger, 2000)
    copy = tmp_path / "copy.db"
    backup(sqlite_ledger, copy)
    whole = copy.read_bytes()
    torn = tmp_path / "torn.db"
    for damaged in (
        b"",
        b"not a database at all, but long enough to be read as one" * 99,
        whole[: len(whole) // 2],
    ):
        torn.write_bytes(damaged)
        with pytest.raises(BackupError):
            restore(torn, f"sqlite:///{tmp_path}/other.db")
    torn.write_bytes(whole.replace(b"line 1234", b"line 9999"))
    with pytest.raises(BrokenChainError) as broken:
        check_copy(torn)
    assert broken.value.seq == 1235
    with pytest.raises(BackupError, match="no file"):
        restore(tmp_path / "missing.db", f"sqlite:///{tmp_path}/other.db")


def test_postgresql_is_pointed_to_its_own_tools(tmp_path: Path) -> None:
    url = "postgresql+psycopg://localhost/cardinal"
    with pytest.raises(BackupError, match="pg_dump"):
        backup(create_engine(url), tmp_path / "copy.db")


@pytest.mark.parametrize("ledger_url", ["postgresql"], indirect=True)
def test_a_back_up_goes_over_to_an_empty_postgresql_whole(
    sqlite_ledger: Engine, ledger_url: str, tmp_path: Path
) -> None:
    append(sqlite_ledger, 2500)
    drafts = [replace(PLAIN, key=EntryKey(f"say:{n}")) for n in range(2)]
    delivery = inbox.Delivery(DeliveryId("d1"), "push", "", b'{"text": "\\u0000"}', NOW)
    inbox.store_deliveries(sqlite_ledger, delivery)
    with event_store.writing(sqlite_ledger) as db:
        event_store.append(db, board_seen(), card_seen(), run_queued(), at=NOW)
        leases.take(db, "run:r1", "worker", ttl_s=60)
        outbox.put(db, drafts[0], NOW)
    backup(sqlite_ledger, tmp_path / "copy.db")
    report = restore(tmp_path / "copy.db", ledger_url)
    engine = open_ledger(ledger_url)
    with event_store.reading(sqlite_ledger) as old, event_store.reading(engine) as new:
        assert report == verify_chain(old) == verify_chain(new)
        for table in (*COPIED, *VIEWS.sorted_tables):
            marks = {(restored.READER, 1)} if table is cursors else set()
            assert set(old.execute(select(table))) == set(new.execute(select(table))) - marks, table.name
        assert restored.is_restored(new)
    append(engine, 1)
    with event_store.writing(engine) as db:
        assert outbox.put(db, drafts[1], NOW), "it gets the next number"
    with pytest.raises(BackupError, match="name an empty one"):
        restore(tmp_path / "copy.db", ledger_url)
    engine.dispose()


def test_copies_are_for_this_user_alone_wherever_they_lie(sqlite_ledger: Engine, tmp_path: Path) -> None:
    append(sqlite_ledger, 1)
    copy, place = tmp_path / "far" / "copy.db", tmp_path / "back" / "ledger.db"
    backup(sqlite_ledger, copy)
    restore(copy, f"sqlite:///{place}")
    modes = [stat.S_IMODE(one.stat().st_mode) for one in (copy.parent, copy, place.parent, place)]
    assert modes == [0o700, 0o600, 0o700, 0o600]
