"""Opening a ledger: durable, up to date, and honest about what it cannot do."""

from dataclasses import replace
from pathlib import Path
from threading import Timer

import pytest
from pysqlite3 import dbapi2 as sqlite
from sqlalchemy import Engine, create_engine, inspect, text
from sqlalchemy.exc import OperationalError

from ledger.db.tables import CORE
from ledger.errors import LedgerUrlError, NewerLedgerError, OlderLedgerError
from ledger.ids import BoardId, CardId, EntryKey
from ledger.lifecycle import open as open_module
from ledger.lifecycle.migrate import newest_migration
from ledger.lifecycle.open import journal_warning, open_ledger, wal_is_safe
from ledger.lifecycle.upgrade import upgrade_ledger
from ledger.log import event_store
from ledger.queue import change_reports, outbox, refresh_requests, sign_ins
from tests.ledger.older import make_older
from tests.ledger.queue.test_outbox import PLAIN as DRAFT
from tests.ledger.samples import NOW, card_seen


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ((3, 40, 1), False),
        ((3, 44, 5), False),
        ((3, 44, 6), True),
        ((3, 45, 0), False),
        ((3, 50, 6), False),
        ((3, 50, 7), True),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
        ((3, 53, 0), True),
    ],
)
def test_an_sqlite_with_the_wal_reset_bug_is_known(version: tuple[int, ...], safe: bool) -> None:
    assert wal_is_safe(version) is safe


def test_every_commit_is_on_disk_before_it_returns(tmp_path: Path) -> None:
    ledger = open_ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    with event_store.writing(ledger) as db:
        assert db.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert db.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert db.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
    with event_store.reading(ledger) as db:  # writers wait in ledger.db.transactions
        assert db.exec_driver_sql("PRAGMA busy_timeout").scalar() == 10_000
    assert journal_warning(ledger) is None
    ledger.dispose()


def test_a_new_ledger_is_opened_once_another_process_has_written_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "ledger.db"
    other = sqlite.connect(file, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    with monkeypatch.context() as impatient:
        impatient.setattr(open_module, "WAIT_S", 0.05)
        with pytest.raises(OperationalError, match="locked"):
            open_ledger(f"sqlite:///{file}")
    ends = Timer(0.1, lambda: other.execute("COMMIT"))
    ends.start()
    ledger = open_ledger(f"sqlite:///{file}")
    assert journal_warning(ledger) is None
    ends.join(60)
    other.close()
    ledger.dispose()


def test_a_ledger_without_write_ahead_log_says_so_to_the_operator(sqlite_ledger: Engine) -> None:
    sqlite_ledger.dispose()
    other = create_engine(sqlite_ledger.url, module=sqlite)
    with other.connect() as db:
        db.exec_driver_sql("PRAGMA journal_mode = DELETE")
    assert "delete" in (journal_warning(other) or "")
    other.dispose()


def test_opening_again_changes_nothing(ledger_url: str) -> None:
    first = open_ledger(ledger_url)
    with event_store.writing(first) as db:
        event_store.append(db, card_seen(), at=NOW)
    assert upgrade_ledger(first) == ()
    second = open_ledger(ledger_url, migrate=False)
    with event_store.reading(second) as db:
        assert event_store.last_seq(db) == 1
    first.dispose()
    second.dispose()


def test_a_ledger_newer_than_the_code_is_refused(ledger: Engine, ledger_url: str) -> None:
    with event_store.writing(ledger) as db:
        db.execute(
            text("INSERT INTO migrations VALUES (9999, 'm9999_future', '2030-01-01T00:00:00.000000Z')")
        )
    for wanted in (True, False):
        with pytest.raises(NewerLedgerError, match="9999"):
            open_ledger(ledger_url, migrate=wanted)


def test_an_empty_database_is_refused_when_it_may_not_be_migrated(ledger_url: str) -> None:
    with pytest.raises(OlderLedgerError, match=f"0 of {newest_migration()}"):
        open_ledger(ledger_url, migrate=False)


def test_the_migrations_make_the_tables_that_the_code_uses(ledger: Engine) -> None:
    found = inspect(ledger)
    for table in CORE.sorted_tables:
        made = {column["name"]: column["nullable"] for column in found.get_columns(table.name)}
        assert made == {column.name: column.nullable for column in table.c}


def test_an_older_ledger_s_notice_that_is_being_sent_is_still_known_as_such(ledger: Engine) -> None:
    names = ("sending", "failed")
    with event_store.writing(ledger) as db:
        for name in names:
            outbox.put(db, replace(DRAFT, key=EntryKey(name)), NOW)
    make_older(ledger)
    with event_store.writing(ledger) as db:
        db.execute(text("UPDATE outbox SET error = 'it is being sent' WHERE key = 'sending'"))
        db.execute(text("UPDATE outbox SET error = '503' WHERE key = 'failed'"))
    upgrade_ledger(ledger)
    with event_store.reading(ledger) as db:
        entries = [outbox.get(db, EntryKey(name)) for name in names]
    assert [(entry.sending, entry.error) for entry in entries if entry] == [(True, ""), (False, "503")]


def test_of_an_older_ledger_s_outbox_only_what_is_open_stays(ledger: Engine) -> None:
    states = ("pending", "claimed", "settled", "given_up")
    with event_store.writing(ledger) as db:
        for state in states:
            outbox.put(db, replace(DRAFT, key=EntryKey(state)), NOW)
    make_older(ledger)
    with event_store.writing(ledger) as db:
        db.execute(text("UPDATE outbox SET state = key"))
    upgrade_ledger(ledger)
    with event_store.reading(ledger) as db:
        assert [state for state in states if outbox.get(db, EntryKey(state))] == ["pending", "claimed"]


def test_an_older_ledger_s_entry_that_settles_a_question_edits_its_comment(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        outbox.put(db, replace(DRAFT, key=EntryKey("question-settled:r1-q1"), act="settle_question"), NOW)
    make_older(ledger)
    upgrade_ledger(ledger)
    with event_store.reading(ledger) as db:
        entry = outbox.get(db, EntryKey("question:r1-q1"))
    assert entry is not None
    assert (entry.act, entry.coalesce, entry.payload) == ("post_question", True, DRAFT.payload)


@pytest.mark.parametrize(("state", "left"), [("pending", ["pending"]), ("claimed", ["claimed", "pending"])])
def test_an_older_ledger_s_question_that_is_to_be_posted_and_settled_becomes_one_comment(
    ledger: Engine, state: str, left: list[str]
) -> None:
    post = replace(DRAFT, key=EntryKey("question:r1-q1"), act="post_question")
    settle = replace(DRAFT, key=EntryKey("question-settled:r1-q1"), act="settle_question")
    with event_store.writing(ledger) as db:
        assert outbox.put(db, post, NOW)
        assert outbox.put(db, settle, NOW)
        db.execute(text("UPDATE outbox SET state = :state WHERE act = 'post_question'"), {"state": state})
    make_older(ledger)
    upgrade_ledger(ledger)
    with event_store.reading(ledger) as db:
        entries = db.execute(text("SELECT key, act, state FROM outbox ORDER BY entry_id")).all()
    assert [tuple(entry) for entry in entries] == [("question:r1-q1", "post_question", it) for it in left]


def test_an_older_ledger_s_refresh_requests_change_reports_and_sign_ins_stay(ledger: Engine) -> None:
    card_id, report = (
        CardId("card"),
        change_reports.ChangeReport("ann", change_reports.About.LABEL, "bug", NOW),
    )
    with event_store.writing(ledger) as db:
        refresh_requests.add(db, card_id, BoardId("board"), refresh_requests.Move(NOW, "done"))
        change_reports.add_report(db, card_id, report)
        sign_ins.begin_sign_in(db, "token", user_id=7, login="ann", now=NOW, ttl_s=60)
        (request,) = refresh_requests.list_requested_cards(db, limit=1)
    make_older(ledger)
    assert inspect(ledger).has_table("doorbells")
    upgrade_ledger(ledger)
    with event_store.reading(ledger) as db:
        assert refresh_requests.list_requested_cards(db, limit=2) == (request,)
        assert refresh_requests.came_to(db, card_id, "done") == NOW
        assert change_reports.of_card(db, card_id) == (report,)
        assert sign_ins.find(db, "token", NOW) is not None
    for table in ("refresh_requests", "sign_ins"):
        (index,) = inspect(ledger).get_indexes(table)
        assert str(index["name"]).startswith(table)


@pytest.mark.parametrize("url", ["mysql://localhost/x", "sqlite://", "sqlite:///:memory:"])
def test_an_address_of_another_kind_is_refused(url: str) -> None:
    with pytest.raises(LedgerUrlError):
        open_ledger(url)


def test_a_ledger_s_folder_is_made(tmp_path: Path) -> None:
    engine = open_ledger(f"sqlite:///{tmp_path}/new/folder/ledger.db")
    assert (tmp_path / "new/folder/ledger.db").exists()
    engine.dispose()
