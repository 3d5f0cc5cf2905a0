"""Reads what a run needs to know of a repository."""

from bot.github.hub import Hub, repository_path


def default_branch(hub: Hub, repository: str) -> str:
    """Return the branch that work starts from; raises NotFoundError for a repository that is gone."""
    return str(hub.rest("GET", repository_path(repository)).body["default_branch"])


def is_archived(hub: Hub, repository: str) -> bool:
    """Tell whether nothing can be written there; raises NotFoundError or RefusedError where Cardinal cannot
    even look.
    """
    return bool(hub.rest("GET", repository_path(repository)).body.get("archived"))


def head(hub: Hub, repository: str) -> str:
    """Return the newest commit of the default branch; raises NotFoundError without a repository."""
    return str(hub.rest("GET", f"{repository_path(repository)}/commits/HEAD").body["sha"])
