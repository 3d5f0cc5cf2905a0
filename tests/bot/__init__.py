"""The edges' tests; each room has a folder, `flows` plays Cardinal against a real forge."""
