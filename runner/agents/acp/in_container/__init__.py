"""The start of such a program in its container: Python's standard library alone."""
