"""Reads what the board does not say of an issue."""

from bot.github.errors import NotFoundError
from bot.github.hub import Hub, repository_path


def closed_by(hub: Hub, repository: str, number: int) -> str:
    """Return who closed the issue last; empty when it is open or gone, or nobody is named.

    Source: docs.github.com/rest/issues/issues#get-an-issue (`closed_by`).
    """
    try:
        found = hub.rest("GET", f"{repository_path(repository)}/issues/{number}").body
    except NotFoundError:
        return ""
    return str((found.get("closed_by") or {}).get("login") or "")
