"""The repositories of the App's installations that a person may read, by that person's own token.

These are no calls of an installation, so `token_scope` has none of them, and they use up no rate limit of the
App. Source: docs.github.com/rest/apps/installations (list app installations accessible to the user access
token, list repositories accessible to the user access token).
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import requests

from bot.github.api import roles
from bot.github.errors import GithubError, UnavailableError
from bot.github.transport import plain_headers, send_plain
from bot.system.secret import Secret

PAGE, MAX_PAGES = 100, 10
WAIT_S = (2.0, 5.0)  # a thread of the web server waits, and there are few
# GitHub's name of a permission -> the role that has it, the strongest first.
ROLES = (
    ("admin", "admin"),
    ("maintain", "maintain"),
    ("push", "write"),
    ("triage", "triage"),
    ("pull", "read"),
)


@dataclass(frozen=True, slots=True)
class ListedRepository:
    """A repository that a listing has; `role` is the person's."""

    name: str
    role: str
    born_at: datetime


@dataclass(frozen=True, slots=True)
class PersonAccess:
    """Repositories that a person may read. `complete` has the owners, in small letters, all of whose were
    listed.
    """

    repositories: tuple[ListedRepository, ...]
    complete: frozenset[str]


def of_person(api_url: str, token: Secret, owners: Collection[str]) -> PersonAccess:
    """Return the repositories of these owners that the token's person may read. Raises GithubError."""
    wanted, listed, complete = {name.casefold() for name in owners}, list[ListedRepository](), set[str]()
    for installation in _items(api_url, token, "/user/installations", "installations"):
        owner = str(installation["account"]["login"]).casefold()
        if owner not in wanted or installation["suspended_at"]:
            continue
        path = f"/user/installations/{int(installation['id'])}/repositories"
        before = len(listed)
        listed.extend(map(_list_access, _items(api_url, token, path, "repositories")))
        if len(listed) - before < PAGE * MAX_PAGES:
            complete.add(owner)
    return PersonAccess(tuple(listed), frozenset(complete))


def _list_access(repository: dict[str, Any]) -> ListedRepository:
    given = repository.get("permissions") or {}
    role = next((role for name, role in ROLES if given.get(name)), roles.NONE)
    return ListedRepository(repository["full_name"], role, datetime.fromisoformat(repository["created_at"]))


def _items(api_url: str, token: Secret, path: str, key: str) -> Iterator[dict[str, Any]]:
    """Yield the items under `key` of a listing, page by page."""
    headers = {**plain_headers(api_url), "Authorization": f"Bearer {token.reveal()}"}
    for page in range(1, MAX_PAGES + 1):
        address = f"{api_url}{path}?per_page={PAGE}&page={page}"
        try:
            answer = send_plain("GET", address, headers=headers, timeout_s=WAIT_S)
            content = answer.json() if answer.status_code == 200 else None
        except requests.RequestException:  # its words and its cause could show the token
            raise UnavailableError(f"GET {path}", 0, "no answer") from None
        if not isinstance(content, dict):
            raise GithubError(f"GET {path}", answer.status_code, "no listing for this person's token")
        yield from content[key]
        if len(content[key]) < PAGE:
            return
