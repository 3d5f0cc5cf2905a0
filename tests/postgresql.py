"""Databases in PostgreSQL for tests, each with a ledger without events."""

from uuid import uuid4

import psycopg
from sqlalchemy import make_url

from ledger.lifecycle.open import open_ledger

# Tables with their columns, constraints and triggers, functions and schemas; then an empty ledger's rows.
_SHAPE = """
SELECT md5(string_agg(it, ' ' ORDER BY it)) FROM (
  SELECT concat_ws(' ', oid, relname, relnamespace) FROM pg_class WHERE oid >= 16384 AND relkind IN ('r', 'i')
  UNION ALL SELECT concat_ws(' ', attrelid, attname, atttypid, attnotnull) FROM pg_attribute
    WHERE attrelid >= 16384
  UNION ALL SELECT concat_ws(' ', conrelid, conname) FROM pg_constraint WHERE conrelid >= 16384
  UNION ALL SELECT concat_ws(' ', tgrelid, tgname, tgenabled) FROM pg_trigger
  UNION ALL SELECT concat_ws(' ', oid, proname, prosrc) FROM pg_proc WHERE oid >= 16384
  UNION ALL SELECT concat_ws(' ', oid, nspname) FROM pg_namespace WHERE oid >= 16384
) AS parts (it)
"""
_ROWS = "SELECT migrations::text FROM migrations UNION ALL SELECT editions::text FROM editions ORDER BY 1"
_TABLES = """
SELECT string_agg(format('DELETE FROM %I', relname), ';') FROM pg_class
WHERE oid >= 16384 AND relkind = 'r' AND relname NOT IN ('migrations', 'editions')
"""
_NUMBERS = "SELECT setval(oid::regclass, 1, false) FROM pg_class WHERE oid >= 16384 AND relkind = 'S'"
_OTHERS = """
SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


class Databases:
    """Gives out copies of a database; one that comes back as it was, but for rows, is emptied for the next.

    To copy and to drop one costs 100 ms of processor, to empty one a tenth, and migrations seven times more.
    """

    def __init__(self, url: str) -> None:
        self.server, self.spare = make_url(url), list[str]()
        self.template = self._run_alone(f"template_{uuid4().hex}", "CREATE DATABASE {}")
        open_ledger(self.address(self.template)).dispose()
        with self._connected(self.template) as db:
            self._shape, self._rows = _all(db, _SHAPE), _all(db, _ROWS)

    def address(self, name: str) -> str:
        """Return the SQLAlchemy address of a database."""
        return self.server.set(database=name).render_as_string(False)

    def take(self) -> str:
        """Return the name of a database that nobody else has."""
        if self.spare:
            return self.spare.pop()
        copy = f"CREATE DATABASE {{}} TEMPLATE {self.template} STRATEGY FILE_COPY"
        return self._run_alone(f"test_{uuid4().hex}", copy)

    def give_back(self, name: str) -> None:
        """Empty a database for the next test, or drop it where more than rows is new."""
        with self._connected(name) as db:
            db.execute(_OTHERS)
            if _all(db, _SHAPE) == self._shape and _all(db, _ROWS) == self._rows:
                db.execute("SET session_replication_role = replica; SET lock_timeout = '30s'")  # no triggers
                db.execute(_all(db, _TABLES)[0][0])
                db.execute(_NUMBERS)
                self.spare.append(name)
                return
        self._run_alone(name, "DROP DATABASE {} WITH (FORCE)")

    def _run_alone(self, name: str, command: str) -> str:
        with self._connected(str(self.server.database)) as db:
            db.execute(command.format(name))
        return name

    def _connected(self, name: str) -> psycopg.Connection:
        url = self.server.set(drivername="postgresql", database=name)
        return psycopg.connect(url.render_as_string(False), autocommit=True)


def _all(db: psycopg.Connection, query: str) -> list[tuple[str, ...]]:
    return db.execute(query).fetchall()
