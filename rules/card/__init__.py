"""Decisions about a card: state, column, repository, dependencies, rights to move it."""
