"""The tables that are folded from events."""
