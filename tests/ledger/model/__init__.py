"""The ledger's closed sets and what they mean."""
