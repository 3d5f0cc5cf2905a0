"""A ledger for each test, over SQLite always and over PostgreSQL where there is one."""

from tests.ledger.conftest import ledger, ledger_url

__all__ = ["ledger", "ledger_url"]
