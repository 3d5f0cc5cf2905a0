"""Opening, migrating, rebuilding and backing up a ledger."""
