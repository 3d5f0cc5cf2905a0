"""Slash commands, one file each: usage, role, what obeying means; found by file name."""
