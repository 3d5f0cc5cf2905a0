"""The runner's tests; its rooms have folders, `flows` plays whole runs."""
