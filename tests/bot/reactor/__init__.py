"""Decisions, and what becomes of them in the ledger."""
