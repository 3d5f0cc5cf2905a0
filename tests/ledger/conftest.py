"""A fresh ledger for each test, over SQLite always and over PostgreSQL where there is one (in CI: always)."""

import os
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import Engine, create_engine, make_url, text

from ledger.lifecycle.open import open_ledger
from tests.ledgers import new_ledger

WITH_POSTGRESQL = bool(os.environ.get("CARDINAL_TEST_POSTGRESQL") or os.environ.get("CI"))


@pytest.fixture
def postgresql_schema(postgresql_url: str) -> Iterator[str]:
    """Return the address of a schema without any table in PostgreSQL."""
    server = make_url(postgresql_url)
    schema = f"test_{uuid4().hex}"
    admin = create_engine(server)
    with admin.begin() as db:
        db.execute(text(f"CREATE SCHEMA {schema}"))
    yield server.update_query_dict({"options": f"-csearch_path={schema}"}).render_as_string(False)
    with admin.begin() as db:
        db.execute(text(f"DROP SCHEMA {schema} CASCADE"))
    admin.dispose()


@pytest.fixture(params=["sqlite", "postgresql"] if WITH_POSTGRESQL else ["sqlite"])
def ledger_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of a database without any table."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ledger.db"
    return str(request.getfixturevalue("postgresql_schema"))


@pytest.fixture
def ledger(ledger_url: str) -> Iterator[Engine]:
    """Return an open ledger without events."""
    engine = new_ledger(ledger_url)
    yield engine
    engine.dispose()


@pytest.fixture
def sqlite_ledger(tmp_path: Path) -> Iterator[Engine]:
    """Return an open ledger in a file, for what only SQLite does."""
    engine = open_ledger(f"sqlite:///{tmp_path}/ledger.db")
    yield engine
    engine.dispose()
