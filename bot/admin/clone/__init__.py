"""A person's clone: its commits checked and judged, its git hooks."""
