"""`cardinal init`."""
