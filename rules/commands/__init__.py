"""Slash commands, one file each; found by file name."""
