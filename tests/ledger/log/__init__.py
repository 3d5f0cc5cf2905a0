"""The event log: appending, its chain of hashes, many writers."""
