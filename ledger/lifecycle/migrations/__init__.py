"""Changes of the tables that are truth, one file each, by number; see `ledger.lifecycle.migrate`."""
