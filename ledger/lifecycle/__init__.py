"""Opening, migration, back-up and rebuild of a ledger."""
