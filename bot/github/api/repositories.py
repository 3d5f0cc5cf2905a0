"""A repository's data."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from bot.github.client import Hub, repository_path
from bot.github.errors import NotFoundError

# What git refuses in names of branches, and some that would leave a path. Source: git-check-ref-format(1).
BRANCH = re.compile(r"(?![./])(?!.*(?:\.\.|//|/\.|@\{))[^\x00-\x20\x7f~^:?*\[\\]{1,250}(?<![./])")
MAX_PAGES = 20  # of a hundred repositories of an installation; beyond, none is missed
BASE = """
query Base($owner: String!, $name: String!) {
  repository(owner: $owner, name: $name) {
    databaseId createdAt visibility defaultBranchRef { name target { oid } }
    ref(qualifiedName: "refs/heads/cardinal") { name }
  }
}
"""


@dataclass(frozen=True, slots=True)
class Base:
    """A repository's default branch and its newest commit, empty where it is not shown; and which repository
    has the name: its id and birth stay through renames and transfers, and one made later has others.

    `has_cardinal_branch`: it has a branch `cardinal`, beside which git keeps no `cardinal/…`. `is_public`:
    everybody may read it; an internal one is for an enterprise's members.
    """

    branch: str
    commit: str
    repository_id: str
    born_at: datetime
    has_cardinal_branch: bool = False
    is_public: bool = False


def default_branch(hub: Hub, repository: str, *, for_s: float = 0) -> str:
    """Return the default branch, as it was up to `for_s` seconds ago; raises NotFoundError for a repository
    that is gone.
    """
    path = repository_path(repository)
    name = _default_of(repository)
    return str(hub.recent(name, lambda: hub.rest("GET", path).body["default_branch"], for_s=for_s))


def _default_of(repository: str) -> str:
    return f"default branch of {repository}"


def base(hub: Hub, repository: str) -> Base:
    """Return the default branch, its newest commit and whose they are, by one call.

    The commit is empty where GraphQL does not show it: in an empty repository, or a renamed one. Raises as
    `default_branch` does.
    """
    owner, _, name = repository.partition("/")
    try:
        seen = hub.graphql(BASE, {"owner": owner, "name": name}, repository=repository).get("repository")
    except NotFoundError:
        seen = None
    ref = (seen or {}).get("defaultBranchRef")
    if seen and ref:
        made = datetime.fromisoformat(seen["createdAt"])
        hub.recent(_default_of(repository), lambda: ref["name"], for_s=0)
        return Base(
            ref["name"],
            ref["target"]["oid"],
            str(seen["databaseId"]),
            made,
            has_cardinal_branch=seen["ref"] is not None,
            is_public=seen["visibility"] == "PUBLIC",
        )
    body = hub.rest("GET", repository_path(repository)).body
    made = datetime.fromisoformat(body["created_at"])
    is_public = body.get("visibility") == "public"
    return Base(str(body["default_branch"]), "", str(body["id"]), made, is_public=is_public)


def is_on(hub: Hub, repository: str, base: str, head: str) -> bool:
    """Whether the commit `head` has the commit `base` among its ancestors.

    The second page is asked for, which has no files. Source: docs.github.com/rest/commits/commits
    (compare two commits).
    """
    path = f"{repository_path(repository)}/compare/{base}...{head}"
    body = hub.rest("GET", path, params={"page": 2, "per_page": 1}).body
    return int(body["behind_by"]) == 0


def look_up(hub: Hub, repository: str) -> tuple[str, bool]:
    """Return its current name, and whether it is archived and so read-only.

    Raises NotFoundError or RefusedError for an invisible one.
    """
    answer = hub.rest("GET", repository_path(repository)).body
    return str(answer["full_name"]), bool(answer.get("archived"))


def is_public(hub: Hub, repository: str) -> bool:
    """Tell whether everybody may read it; an internal one is for an enterprise's members.

    Source: docs.github.com/rest/repos/repos#get-a-repository (visibility).
    """
    return bool(hub.rest("GET", repository_path(repository)).body.get("visibility") == "public")


def read_creation_time(hub: Hub, repository: str) -> datetime:
    """Return the time of its creation, which a rename or transfer does not change."""
    return datetime.fromisoformat(hub.rest("GET", repository_path(repository)).body["created_at"])


def head(hub: Hub, repository: str) -> str:
    """Return the newest commit of the default branch; raises NotFoundError without a repository."""
    return str(hub.rest("GET", f"{repository_path(repository)}/commits/HEAD").body["sha"])


def branch_head(hub: Hub, repository: str, branch: str) -> str:
    """Return the newest commit of a branch, however hostile its name; raises NotFoundError without one."""
    if not BRANCH.fullmatch(branch):
        raise NotFoundError("the branch", 0, "no branch can have that name")
    path = f"{repository_path(repository)}/branches/{quote(branch, safe='')}"
    return str(hub.rest("GET", path).body["commit"]["sha"])


def reachable(hub: Hub) -> Iterator[Mapping[str, Any]]:
    """Yield the repositories of the installation.

    Source: docs.github.com/rest/apps/installations#list-repositories-accessible-to-the-app-installation.
    """
    for page in range(1, MAX_PAGES + 1):
        params = {"per_page": 100, "page": page}
        listed = hub.rest("GET", "/installation/repositories", params=params).body["repositories"]
        yield from listed
        if len(listed) < 100:
            return
