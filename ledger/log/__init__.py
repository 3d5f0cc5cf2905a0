"""Event log: append, read, hash chain, cursors."""
