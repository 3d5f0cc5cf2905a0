"""A ledger in PostgreSQL is copied within its database before an upgrade; the copy's name leads back."""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import Engine, inspect, make_url

from ledger.db.statements import drive
from ledger.db.tables import CORE, VIEWS, cursors, editions, hosts, migrations
from ledger.errors import BackupError, BrokenChainError, NewerLedgerError
from ledger.ids import EntryKey
from ledger.lifecycle import schema_copy
from ledger.lifecycle.backup import restore
from ledger.lifecycle.edition import mine
from ledger.lifecycle.migrate import current_number, newest_migration
from ledger.lifecycle.open import connect, open_ledger
from ledger.lifecycle.upgrade_backup import KEPT, back_up
from ledger.log import event_store, hash_chain
from ledger.queue import api_tokens, outbox, restored, sign_ins
from ledger.queue.hosts import beat
from tests.ledger.lifecycle.test_upgrade import ROOT, Other, change, here
from tests.ledger.lifecycle.test_upgrade import start as start  # a fixture
from tests.ledger.older import DIGEST, NUMBER, VERSION, make_older
from tests.ledger.queue.test_outbox import PLAIN
from tests.ledger.samples import NOW

pytestmark = pytest.mark.parametrize("ledger_url", ["postgresql"], indirect=True)
EVENTS = 5
MIGRATION = '''"""A change of a later version."""

from sqlalchemy import Connection


def up(db: Connection) -> None:
    """Add a table and a function."""
    db.exec_driver_sql("CREATE TABLE later (id INTEGER PRIMARY KEY)")
    db.exec_driver_sql("CREATE FUNCTION cardinal_later() RETURNS integer LANGUAGE sql AS 'SELECT 1'")
'''


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a later version, which has a table more."""
    folder = tmp_path_factory.mktemp("later")
    shutil.copytree(ROOT / "ledger", folder / "ledger")
    change(
        folder / "ledger/db/tables.py",
        "migrations = Table(",
        'later = Table("later", CORE, Column("id", Integer, primary_key=True))\n\nmigrations = Table(',
    )
    (folder / f"ledger/lifecycle/migrations/m{newest_migration() + 1:04}_later.py").write_text(MIGRATION)
    return folder


def rows(engine: Engine) -> dict[str, list[str]]:
    """Return all that is in a ledger, but for which version has it and whether a copy was put back."""
    tables = [*CORE.sorted_tables, *VIEWS.sorted_tables]
    with event_store.reading(engine) as db:
        return {
            table.name: sorted(
                repr(row)
                for row in drive(db, f'SELECT * FROM "{table.name}"').fetchall()
                if table is not cursors or row[0] != restored.READER
            )
            for table in tables
            if table not in (migrations, editions)
        }


def copies(engine: Engine) -> list[str]:
    with event_store.reading(engine) as db:
        return [copy.name for copy in schema_copy.copies(db)]


def upgraded(url: str) -> str:
    """Upgrade an older ledger; return the name of its copy, as it is said."""
    said: list[str] = []
    open_ledger(url, before=partial(back_up, say=said.append)).dispose()
    (name,) = re.findall(r"`cardinal restore (\S+) --overwrite-newer`", said[0])
    return str(name)


def put_back(name: str, url: str, *, overwrite_newer: bool = True) -> int:
    return restore(Path(name), url, host="here", overwrite_newer=overwrite_newer).events


def test_the_version_of_before_goes_on_where_a_later_one_took_the_ledger_over(
    ledger: Engine, ledger_url: str, later: Path, start: Callable[[Path, str], Other]
) -> None:
    old, new = here(ledger), start(later, ledger_url)
    old.append(EVENTS)
    with event_store.writing(ledger) as db:
        outbox.put(db, PLAIN, NOW)
        api_tokens.make(db, "ci", login="ann", user_id=1, scopes=("read",), now=NOW, lives=timedelta(days=1))
    before = rows(ledger)
    (name,) = re.findall(r"`cardinal restore (\S+) ", new("upgrade_with_copy"))
    assert new("append 2") == f"at {EVENTS + 2}"
    with pytest.raises(NewerLedgerError, match=f"event {EVENTS + 2}, newer than {EVENTS}"):
        put_back(name, ledger_url, overwrite_newer=False)
    assert new("append 1") == f"at {EVENTS + 3}"

    assert put_back(name, ledger_url) == EVENTS
    assert rows(ledger) == before
    assert not inspect(ledger).has_table("later")
    assert new("append 1").startswith("OlderLedgerError")
    assert old.append(1) == f"at {EVENTS + 1}"
    assert old.replay() == f"same {EVENTS + 1}"
    with event_store.writing(ledger) as db:
        assert outbox.put(db, replace(PLAIN, key=EntryKey("next")), NOW), "it gets the next number"
    with event_store.writing(ledger) as db, pytest.raises(Exception, match="never changed or deleted"):
        drive(db, "DELETE FROM events")
    # There and back once more: nothing of the later version is in its way.
    assert "to go back" in new("upgrade_with_copy")
    assert put_back(copies(ledger)[-1], ledger_url) == EVENTS + 1


def test_a_copy_of_an_older_version_is_put_back_and_upgraded(ledger: Engine, ledger_url: str) -> None:
    here(ledger).append(EVENTS)
    with event_store.writing(ledger) as db:
        sign_ins.begin_sign_in(db, "token", user_id=7, login="ann", now=NOW, ttl_s=60)
    make_older(ledger)
    name = upgraded(ledger_url)
    assert name.startswith(f"upgrade-from-{VERSION}-{DIGEST[:8]}-")
    after = open_ledger(ledger_url)
    before = rows(after)
    here(after).append(2)
    assert put_back(name, ledger_url) == EVENTS
    assert rows(after) == before
    with event_store.reading(after) as db:
        assert current_number(db) == newest_migration()
        assert mine().tables == {it for it in inspect(db).get_table_names() if it.startswith("view_")}
    after.dispose()


def test_the_copy_before_two_upgrades_leaves_nothing_of_the_second(
    ledger: Engine, ledger_url: str, later: Path, start: Callable[[Path, str], Other]
) -> None:
    here(ledger).append(EVENTS)
    make_older(ledger)
    name = upgraded(ledger_url)
    new = start(later, ledger_url)
    assert "to go back" in new("upgrade_with_copy")
    assert put_back(name, ledger_url) == EVENTS
    assert not inspect(ledger).has_table("later")
    assert "to go back" in new("upgrade_with_copy")


@contextmanager
def as_stranger(ledger: Engine) -> Iterator[str]:
    """Give the ledger's address for a user of PostgreSQL who may write to its tables, and make no schema."""
    role = f"stranger_{uuid4().hex}"
    with ledger.begin() as db:
        drive(db, f"CREATE ROLE {role} LOGIN")
        drive(db, f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}")
        drive(db, f"GRANT CREATE ON SCHEMA public TO {role}")
    yield make_url(str(ledger.url)).set(username=role).render_as_string(False)
    with ledger.begin() as db:
        drive(db, f"DROP OWNED BY {role}")
        drive(db, f"DROP ROLE {role}")


def test_who_may_make_no_schema_is_told_who_allows_it_and_nothing_is_upgraded(
    ledger: Engine, ledger_url: str
) -> None:
    make_older(ledger)
    with as_stranger(ledger) as url:
        grant = rf'`GRANT CREATE ON DATABASE "{ledger.url.database}" TO "{make_url(url).username}"`'
        with pytest.raises(BackupError, match=f"not upgraded, .* permission denied .* {grant}"):
            upgraded(url)
    with closing_engine(ledger_url) as engine, event_store.reading(engine) as db:
        assert current_number(db) == NUMBER
        assert schema_copy.copies(db) == ()


@contextmanager
def closing_engine(url: str) -> Iterator[Engine]:
    engine = connect(url)
    try:
        yield engine
    finally:
        engine.dispose()


def test_nothing_changes_under_another_host_that_works_or_with_a_copy_that_was_altered(
    ledger: Engine, ledger_url: str
) -> None:
    here(ledger).append(EVENTS)
    make_older(ledger)
    name = upgraded(ledger_url)
    with closing_engine(ledger_url) as engine:
        with event_store.writing(engine) as db:
            for host in ("here", "there"):
                beat(db, host, slots=1, labels=(), version="1")
        with pytest.raises(BackupError, match=r"^there worked on this ledger within the last 20 s"):
            put_back(name, ledger_url)
        with event_store.writing(engine) as db:
            drive(db, f"DELETE FROM {hosts.name} WHERE name = 'there'")
            drive(db, f"UPDATE \"{name}\".events SET body = body || ' ' WHERE seq = 2")
        before = rows(engine)
        with pytest.raises(BrokenChainError):
            put_back(name, ledger_url)
        assert rows(engine) == before
        with event_store.reading(engine) as db:
            assert hash_chain.verify_chain(db).events == EVENTS


def test_what_is_no_copy_of_this_ledger_is_not_put_back(ledger: Engine, ledger_url: str) -> None:
    with pytest.raises(BackupError, match=r"nowhere.db is no file, and no copy .*: no upgrade made one"):
        put_back("nowhere.db", ledger_url)
    make_older(ledger)
    name = upgraded(ledger_url)
    with pytest.raises(BackupError, match=rf"nowhere.db is no file, and no copy .*: it has {name}"):
        put_back("nowhere.db", ledger_url)


def test_three_copies_are_kept_and_those_of_another_ledger_in_the_database(
    ledger: Engine, ledger_url: str
) -> None:
    older = [f"upgrade-from-0.0.{n}-0123abcd-2025010{n}T000000" for n in range(1, 5)]
    same, other = f"upgrade-from-{VERSION}-{DIGEST[:8]}-20250101T000000", "upgrade-from-other"
    with event_store.writing(ledger) as db:
        for name in (*older, same, other):
            schema_copy.make_copy(db, name)
        drive(db, f'COMMENT ON SCHEMA "{other}" IS \'{{"of": "another", "later": []}}\'')
        drive(db, 'CREATE SCHEMA "upgrade-from-by-hand"')
        drive(db, "COMMENT ON SCHEMA \"upgrade-from-by-hand\" IS 'of May'")
    make_older(ledger)
    name = upgraded(ledger_url)
    assert copies(ledger) == [*older[1 - KEPT :], name]
    assert inspect(ledger).has_table("events", schema=other)
