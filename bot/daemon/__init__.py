"""`cardinal up`: the process group, its start and stop, the lock of a home."""
