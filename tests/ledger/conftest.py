"""A fresh ledger for each test, over SQLite always and over PostgreSQL where there is one (in CI: always)."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from tests.ledger.samples import NOW
from tests.ledgers import Hand, new_ledger

WITH_POSTGRESQL = bool(os.environ.get("CARDINAL_TEST_POSTGRESQL") or os.environ.get("CI"))


@pytest.fixture(params=["sqlite", "postgresql"] if WITH_POSTGRESQL else ["sqlite"])
def ledger_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of the test's `ledger`; without that, of a database without any table."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ledger.db"
    has_ledger = "ledger" in request.fixturenames
    return str(request.getfixturevalue("postgresql_ledger" if has_ledger else "postgresql_schema"))


@pytest.fixture
def ledger(ledger_url: str) -> Iterator[Engine]:
    """Return an open ledger without events."""
    engine = new_ledger(ledger_url)
    yield engine
    engine.dispose()


@pytest.fixture
def hand(ledger: Engine) -> Hand:
    """Return the clock of the ledger's database, which stands at NOW until a test sets it."""
    return Hand(ledger, NOW)


@pytest.fixture
def sqlite_ledger(tmp_path: Path) -> Iterator[Engine]:
    """Return an open ledger in a file, for what only SQLite does."""
    engine = new_ledger(f"sqlite:///{tmp_path}/ledger.db")
    yield engine
    engine.dispose()
