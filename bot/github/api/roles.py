"""Roles of people in a repository."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from bot.github.client import Hub, repository_path
from bot.github.errors import NotFoundError

ROLES = ("admin", "maintain", "write", "triage", "read")
NONE = "none"
KEPT_S = 60
WRITERS = ("admin", "maintain", "write")


def role(hub: Hub, repository: str, login: str) -> str:
    """Return admin, maintain, write, triage, read or none; up to a minute old.

    A person unknown there has none. A custom role counts as its standard base role.
    Source: docs.github.com/rest/collaborators/collaborators#get-repository-permissions-for-a-user.
    """
    if not login:  # a deleted account
        return NONE
    known: str = hub.recent(
        f"role of {login.lower()} in {repository}",
        lambda: _role_of(_permission(hub, repository, login)),
        for_s=KEPT_S,
    )
    return known


def may_write(role_name: str) -> bool:
    """Tell whether a role has write access or better, and so may steer an agent."""
    return role_name in WRITERS


def writes(hub: Hub, repository: str, login: str) -> bool:
    """Tell whether this person has write access there, by an answer up to a minute old."""
    return may_write(role(hub, repository, login))


def role_of_account(hub: Hub, repository: str, login: str, user_id: int) -> str:
    """Return the role of this very account, by a fresh call; in a public repository everybody may read.

    A login that belongs to another account by now has none.
    """
    permission = _permission(hub, repository, login)
    return _role_of(permission) if (permission.get("user") or {}).get("id") == user_id else NONE


def account_of(hub: Hub, login: str) -> tuple[int, str]:
    """Return the id and the exact login of an account. Raises NotFoundError, GithubError.

    Source: docs.github.com/rest/users/users#get-a-user.
    """
    user = hub.rest("GET", f"/users/{quote(login, safe='')}").body
    return int(user["id"]), str(user["login"])


def _permission(hub: Hub, repository: str, login: str) -> Mapping[str, Any]:
    """Return GitHub's answer; empty for an unknown person."""
    path = f"{repository_path(repository)}/collaborators/{quote(login, safe='')}/permission"
    try:
        permission: Mapping[str, Any] = hub.rest("GET", path).body
    except NotFoundError:
        return {}
    return permission


def _role_of(permission: Mapping[str, Any]) -> str:
    for name in (permission.get("role_name"), permission.get("permission")):
        if name in ROLES:
            return str(name)
    return NONE
