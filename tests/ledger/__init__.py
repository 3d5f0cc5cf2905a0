"""The ledger's tests; its rooms have folders of their own."""
