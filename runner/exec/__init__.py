"""Subprocesses: start, stream, stop; none outlives Cardinal."""
