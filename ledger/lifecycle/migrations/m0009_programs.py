"""Programs: the tokens of the API, and the requests that acted already."""

from sqlalchemy import Connection


def up(db: Connection) -> None:
    db.exec_driver_sql(
        "CREATE TABLE api_tokens (token_id TEXT NOT NULL PRIMARY KEY, digest TEXT NOT NULL UNIQUE,"
        " name TEXT NOT NULL, login TEXT NOT NULL, user_id BIGINT NOT NULL, scopes TEXT NOT NULL,"
        " made_at TEXT NOT NULL, until TEXT NOT NULL, revoked_at TEXT, used_at TEXT, uses BIGINT NOT NULL)"
    )
    db.exec_driver_sql("CREATE INDEX api_tokens_user ON api_tokens (user_id)")
    db.exec_driver_sql(
        "CREATE TABLE acted_requests (key_digest TEXT NOT NULL PRIMARY KEY, request_digest TEXT NOT NULL,"
        " seq BIGINT NOT NULL, until TEXT NOT NULL)"
    )
