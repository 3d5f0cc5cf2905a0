"""Calls of GitHub's API, one module per part: documents, calls, frozen answers."""
