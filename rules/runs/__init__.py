"""Decisions about runs: start, queue, budget, mode, gate, limits, stops."""
