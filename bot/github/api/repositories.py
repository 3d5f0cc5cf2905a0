"""Reads what Cardinal needs to know of a repository."""

from datetime import datetime

from bot.github.client import Hub, repository_path


def default_branch(hub: Hub, repository: str) -> str:
    """Return the branch that work starts from; raises NotFoundError for a repository that is gone."""
    return str(hub.rest("GET", repository_path(repository)).body["default_branch"])


def look_up(hub: Hub, repository: str) -> tuple[str, bool]:
    """Return its name as GitHub spells it, and whether it is archived: nothing can be written there then.

    Raises NotFoundError or RefusedError where Cardinal cannot even look.
    """
    found = hub.rest("GET", repository_path(repository)).body
    return str(found["full_name"]), bool(found.get("archived"))


def born_at(hub: Hub, repository: str) -> datetime:
    """Return when the repository was made; being renamed or transferred does not change that."""
    return datetime.fromisoformat(hub.rest("GET", repository_path(repository)).body["created_at"])


def head(hub: Hub, repository: str) -> str:
    """Return the newest commit of the default branch; raises NotFoundError without a repository."""
    return str(hub.rest("GET", f"{repository_path(repository)}/commits/HEAD").body["sha"])
