"""Markdown that people read on GitHub: pure functions of ledger rows."""
