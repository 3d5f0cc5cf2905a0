"""A SQLite file from elsewhere is used only where its schema is plain tables: nothing in it runs before."""

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pysqlite3 import dbapi2 as sqlite
from sqlalchemy import Engine

from ledger.errors import BackupError
from ledger.lifecycle.backup import backup, require_source, restore
from ledger.lifecycle.open import open_ledger
from ledger.lifecycle.plain_schema import MAX_PARTS, require_plain
from ledger.lifecycle.transfer import take_in

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS seq FROM n"
FOR_EVER = "('" + "a" * 40 + "' LIKE '" + "%a" * 20 + "%b')"
REPLACED = (
    "ALTER TABLE events RENAME TO was; DROP TRIGGER events_no_update; DROP TRIGGER events_no_delete;"
    " DROP TRIGGER events_at_the_end; DROP TRIGGER events_by_editions; "
)
WRITABLE = "PRAGMA writable_schema = ON; "
HOSTILE = {
    "an endless view in the place of the events": f"{REPLACED} CREATE VIEW events AS {ENDLESS}",
    "a view that nothing names": f"CREATE VIEW v AS {ENDLESS}",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON cursors BEGIN DELETE FROM outbox; END",
    "a trigger in the place of Cardinal's": "DROP TRIGGER events_no_update; CREATE TRIGGER events_no_update"
    " AFTER UPDATE ON events BEGIN DELETE FROM outbox; END",
    "a check": f"CREATE TABLE t (x, CHECK {FOR_EVER})",
    "a check of a column": f"CREATE TABLE t (x check {FOR_EVER})",
    "a generated column": f"CREATE TABLE t (x, y GENERATED ALWAYS AS {FOR_EVER})",
    "a generated column in short": f"CREATE TABLE t (x, y AS {FOR_EVER} STORED)",
    "a default": f"CREATE TABLE t (x DEFAULT {FOR_EVER})",
    "a virtual table": "CREATE VIRTUAL TABLE t USING fts5(x)",
    "another virtual table": "CREATE VIRTUAL TABLE t USING rtree(a, b, c)",
    "an index on a function": "CREATE INDEX i ON events (hex(zeroblob(seq)))",
    "an index with a function behind its where": "CREATE INDEX i ON events (seq) WHERE abs(seq) = 1",
    "an index on a match": f"CREATE INDEX i ON events ({FOR_EVER})",
    "an index on a choice": "CREATE INDEX i ON events (case seq when 1 then 2 end)",
    "a name that hides a word": 'CREATE TABLE "t" ("CHECK", x CHECK (1 = 1))',
    "a comment": "CREATE TABLE t (x /* ) */, y)",
    "other quotes": "CREATE TABLE [t] (`x`)",
    "a view that calls itself a table": f"{WRITABLE} INSERT INTO sqlite_schema VALUES"
    f" ('table', 'v', 'v', 0, 'CREATE VIEW v AS {ENDLESS}')",
    "a trigger that calls itself an index": f"{WRITABLE} INSERT INTO sqlite_schema VALUES ('index', 't',"
    " 'cursors', 0, 'CREATE TRIGGER t AFTER INSERT ON cursors BEGIN DELETE FROM outbox; END')",
    "a view in the place of the schema": f"{WRITABLE} INSERT INTO sqlite_schema VALUES"
    f" ('view', 'sqlite_schema', 'sqlite_schema', 0, 'CREATE VIEW sqlite_schema AS {ENDLESS}')",
    "a table with a long text": f"CREATE TABLE t ({', '.join(f'column_number_{n}' for n in range(1500))})",
    "more tables than any ledger": ";".join(f"CREATE TABLE t{n} (x)" for n in range(MAX_PARTS)),
}


def changed(ledger: Engine, folder: Path, script: str) -> Path:
    file = folder / "given.db"
    backup(ledger, file)
    with closing(sqlite.connect(file)) as db:
        db.executescript(f"BEGIN; {script}; COMMIT")
    return file


@pytest.mark.parametrize("script", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.timeout(30)
def test_a_file_with_a_program_is_refused_before_it_runs(
    sqlite_ledger: Engine, tmp_path: Path, script: str
) -> None:
    file = changed(sqlite_ledger, tmp_path, script)
    url = f"sqlite:///{tmp_path}/made/ledger.db"
    begun = time.process_time()
    for use in (lambda: take_in(file, url), lambda: restore(file, url), lambda: require_source(file, url)):
        with pytest.raises(BackupError):
            use()
    assert time.process_time() - begun < 5
    assert not (tmp_path / "made").exists()


def test_the_refusal_names_what_was_found_and_the_way_out(sqlite_ledger: Engine, tmp_path: Path) -> None:
    file = changed(sqlite_ledger, tmp_path, "CREATE VIEW mine AS SELECT 1")
    with pytest.raises(BackupError, match=r"it has a view, 'mine'.* drop it from a copy of the file"):
        require_plain(file)


def plain(folder: Path) -> Iterator[str]:
    yield "CREATE TABLE t (x VARCHAR(10) PRIMARY KEY NOT NULL, y BIGINT DEFAULT 1, UNIQUE (y)) WITHOUT ROWID"
    yield "CREATE TABLE t (x); CREATE UNIQUE INDEX i ON t (x DESC) WHERE x IN (1, 2) AND NOT (x <> 'it''s')"
    yield "ANALYZE"
    yield f"ATTACH '{folder}/other.db' AS other"


def test_a_plain_file_is_taken(sqlite_ledger: Engine, tmp_path: Path) -> None:
    for n, script in enumerate(plain(tmp_path)):
        (tmp_path / str(n)).mkdir()
        file = tmp_path / str(n) / "given.db"
        backup(sqlite_ledger, file)
        with closing(sqlite.connect(file)) as db:
            db.executescript(script)
        require_plain(file)
        restore(file, f"sqlite:///{tmp_path}/{n}/ledger.db")
        open_ledger(f"sqlite:///{tmp_path}/{n}/ledger.db").dispose()


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("CREATE TABLE events (x)")
    for name in ("text", "missing", "."):
        with pytest.raises(BackupError):
            require_plain(tmp_path / name)
