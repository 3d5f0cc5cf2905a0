"""Dialogue with one agent: turns, tools, questions, progress."""
