"""Reads what a run needs to know of a repository."""

from bot.github.hub import Hub, repository_path


def default_branch(hub: Hub, repository: str) -> str:
    """Return the branch that work starts from; raises NotFoundError for a repository that is gone."""
    return str(hub.rest("GET", repository_path(repository)).body["default_branch"])
