"""Texts of a pull request: description, checks, thread replies."""
