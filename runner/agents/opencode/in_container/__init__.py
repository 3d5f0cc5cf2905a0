"""OpenCode's dialogue inside the container: Python's standard library alone."""
