"""Editions: which version's views are live, which are folded beside them; older writers are refused.

A Cardinal from before knows no editions. Its appends lack the sign that newer code gives: a function of its
connections in SQLite, a setting of its transactions in PostgreSQL.
"""

from sqlalchemy import Connection

REFUSAL = "Cardinal of this host is older than the ledger: stop it, upgrade it and start it again"
SIGN = "cardinal_editions"  # the function, and with a dot the setting

TABLE = """
CREATE TABLE IF NOT EXISTS editions (
  digest TEXT PRIMARY KEY NOT NULL, version TEXT NOT NULL, state TEXT NOT NULL, tables TEXT NOT NULL,
  folded TEXT NOT NULL, position BIGINT NOT NULL, at TEXT NOT NULL)
"""
SQLITE_GUARDS = (
    f"CREATE TRIGGER events_by_editions BEFORE INSERT ON events WHEN NOT {SIGN}()"
    f" BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END",
)
POSTGRESQL_GUARDS = (
    "CREATE FUNCTION cardinal_events_by_editions() RETURNS trigger LANGUAGE plpgsql AS"
    " $$BEGIN IF current_setting('cardinal.editions', true) IS DISTINCT FROM 'known' THEN"
    f" RAISE EXCEPTION '{REFUSAL}'; END IF; RETURN NEW; END$$",
    "CREATE TRIGGER events_by_editions BEFORE INSERT ON events"
    " FOR EACH ROW EXECUTE FUNCTION cardinal_events_by_editions()",
)


def make_table(db: Connection) -> None:
    """Make the table where it is not there: an upgrade beside an older Cardinal needs it first."""
    db.exec_driver_sql(TABLE)


def up(db: Connection) -> None:
    """Make the table, and refuse events of those who know none of it."""
    make_table(db)
    for statement in SQLITE_GUARDS if db.dialect.name == "sqlite" else POSTGRESQL_GUARDS:
        db.exec_driver_sql(statement)
