"""Tables are named after their rows: refresh requests, change reports and sign-ins."""

from sqlalchemy import Connection

TABLES = {"doorbells": "refresh_requests", "reports": "change_reports", "visits": "sign_ins"}
COLUMNS = (
    ("refresh_requests", "rung", "requested"),
    ("refresh_requests", "answered", "served"),
    ("refresh_requests", "rung_at", "requested_at"),
    ("refresh_requests", "told", "moves"),
    ("sign_ins", "word_digest", "token_digest"),
)


def up(db: Connection) -> None:
    """Rename the tables, the columns and the indexes; the rows stay."""
    for old, new in TABLES.items():
        db.exec_driver_sql(f"ALTER TABLE {old} RENAME TO {new}")
    for table, old, new in COLUMNS:
        db.exec_driver_sql(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}")
    db.exec_driver_sql("DROP INDEX doorbells_waiting")
    db.exec_driver_sql(
        "CREATE INDEX refresh_requests_waiting ON refresh_requests (requested_at) WHERE requested > served"
    )
    db.exec_driver_sql("DROP INDEX visits_user")
    db.exec_driver_sql("CREATE INDEX sign_ins_user ON sign_ins (user_id)")
