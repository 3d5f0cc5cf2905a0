"""Processes: how they start, what they write, how they end."""
