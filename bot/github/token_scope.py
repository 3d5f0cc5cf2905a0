"""The scope of a call's token: its repository, and the permissions that it needs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.github.errors import GithubError, PermissionMissingError, UnknownNameError

REPOSITORY_PATH = re.compile(r"/repos/([^/]+/[^/]+)(/.*)?")


@dataclass(frozen=True, slots=True)
class TokenScope:
    """A repository (owner/name) and permission levels by GitHub's names; none: all that are granted."""

    repository: str
    permissions: tuple[tuple[str, str], ...] = ()

    @property
    def owner(self) -> str:
        """The repository's owner."""
        return self.repository.partition("/")[0]

    @property
    def name(self) -> str:
        """The token's name in caches."""
        return " ".join((self.repository, *(f"{name}:{level}" for name, level in self.permissions)))

    def body(self) -> Mapping[str, Any]:
        """Return the body of the request for such a token.

        Source: docs.github.com/rest/apps/apps#create-an-installation-access-token-for-an-app.
        """
        fields: dict[str, Any] = {"repositories": [self.repository.partition("/")[2]]}
        return {**fields, "permissions": dict(self.permissions)} if self.permissions else fields


# Reads of a repository's text share one token: it may write nothing.
READING = ("contents", "issues", "pull_requests")
# The rest of the path -> permissions to read and to write there; the first match counts.
# Comments and labels of a pull request are those of its issue, and need the permission of either.
# Source: docs.github.com/rest/authentication/permissions-required-for-github-apps. tests/published holds all
# calls to the published list, and says why two of them ask for more.
_AREAS: tuple[tuple[re.Pattern[str], tuple[str, ...], tuple[str, ...]], ...] = (
    (re.compile(r"|/collaborators/[^/]+/permission|/rules/branches/.+|/rulesets/\d+"), READING, ()),
    (re.compile(r"/issues"), READING, ("issues",)),
    (re.compile(r"/issues/.*"), READING, ("issues", "pull_requests")),
    (re.compile(r"/pulls/\d+/merge"), (), ("contents", "pull_requests")),
    (re.compile(r"/pulls"), READING, ("contents", "pull_requests")),
    (re.compile(r"/pulls/.*"), READING, ("pull_requests",)),
    (re.compile(r"/check-runs(/\d+)?|/commits/[^/]+/check-runs"), ("checks",), ("checks",)),
    (re.compile(r"/commits/[^/]+/status"), ("statuses",), ()),
    (re.compile(r"/actions/jobs/\d+/logs"), ("actions",), ()),
    (re.compile(r"/labels/[^/]+"), (), ("issues",)),
    (
        re.compile(r"/(contents|git|branches|compare)/.*|/branches|/commits(/[^/]+)?"),
        READING,
        ("contents",),
    ),
)


# Source: docs.github.com/rest/apps/apps (permissions: workflows).
_WORKFLOWS = (("workflows", "write"),)


def of_call(method: str, path: str, *, workflows: bool = False) -> TokenScope | None:
    """Return the scope of a REST call; None if it is not about a single repository.

    A call of an unknown kind is limited to its repository only. Only with `workflows` a merge may change
    files of GitHub Actions: GitHub refuses it to any other token of an App.
    """
    match = REPOSITORY_PATH.fullmatch(path)
    if match is None:
        return None
    repository, rest = match[1], match[2] or ""
    for area, to_read, to_write in _AREAS:
        if area.fullmatch(rest):
            reads = method == "GET"
            more = _WORKFLOWS if workflows else ()
            return _of_areas(repository, to_read if reads else to_write, "read" if reads else "write", more)
    return TokenScope(repository)


def pushing(repository: str, *, workflows: bool = False, writes: bool = True) -> TokenScope:
    """Return the scope that git needs to push, also CI's files with `workflows`; without `writes` that of all
    reads.
    """
    if not writes:
        return _of_areas(repository, READING, "read")
    return _of_areas(repository, ("contents",), "write", _WORKFLOWS if workflows else ())


def of_query(repository: str, *, mutates: bool) -> TokenScope:
    """Return the scope of a GraphQL call about that repository alone: mutations are of its pull requests."""
    names = ("contents", "pull_requests") if mutates else READING
    return _of_areas(repository, names, "write" if mutates else "read")


def _of_areas(
    repository: str, names: tuple[str, ...], level: str, more: tuple[tuple[str, str], ...] = ()
) -> TokenScope:
    return TokenScope(repository, (*((name, level) for name in names), *more))


def scope_refusal(error: GithubError, scope: TokenScope) -> GithubError:
    """Return the error for a token that GitHub refuses for this scope (a 422), else the error itself."""
    if error.status != 422:
        return error
    because = error.because.lower()
    if "permissions requested are not granted" in because:
        wanted = ", ".join(f"{name}: {level}" for name, level in scope.permissions)
        return PermissionMissingError(error.call, error.status, f"{error.because} Wanted: {wanted}")
    if "not accessible" in because or "does not exist" in because:
        return UnknownNameError(error.call, 404, f"{scope.repository}: {error.because}")
    return error
