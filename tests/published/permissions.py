"""Which permissions of an App each call needs: as GitHub publishes it, and where that is behind or silent."""

import json
from collections.abc import Mapping
from typing import Any

from tests.published import fetching

Needs = frozenset[tuple[str, str]]  # names and levels, each of which is enough
LEVELS = ("none", "read", "write", "admin")


def need(*given: str) -> Needs:
    """Return what `contents:read` and the like mean."""
    return frozenset((name, level) for name, _, level in (one.partition(":") for one in given))


ROOT = "/repos/{owner}/{repo}"
# What the package does not have, or has from before it moved.
# Source: docs.github.com/rest/authentication/permissions-required-for-github-apps, of 2026-03-10.
LATER: Mapping[str, Needs] = {
    f"GET {ROOT}/commits/{{ref}}": need("contents:read"),
    f"GET {ROOT}/commits/{{ref}}/check-runs": need("checks:read"),
    f"GET {ROOT}/compare/{{basehead}}": need("contents:read"),
    f"GET {ROOT}/rules/branches/{{branch}}": need("metadata:read"),
    f"GET {ROOT}/rulesets/{{ruleset_id}}": need("metadata:read"),
    f"GET {ROOT}/collaborators/{{username}}/permission": need("metadata:read"),
    # The package knows its single file only, the page its contents, too.
    f"PUT {ROOT}/contents/{{path}}": need("contents:write"),
    # It was `contents` while Actions was young; the page "Workflow jobs" has said `actions` since.
    f"GET {ROOT}/actions/jobs/{{job_id}}/logs": need("actions:read"),
    # A pull request is an issue, too.
    f"GET {ROOT}/issues/{{issue_number}}": need("issues:read", "pull_requests:read"),
}
# What a call asks for beyond that, and the words of the published description that call for it.
BEYOND: Mapping[str, tuple[Needs, str]] = {
    f"POST {ROOT}/pulls": (need("contents:write"), "you must have write access to the head"),
    f"PUT {ROOT}/pulls/{{pull_number}}/merge": (need("pull_requests:write"), ""),
}
# GitHub publishes no permissions of GraphQL: these are those of REST calls that do the same. Who may write
# to a project may edit it, its fields too; `admin` adds the choice of collaborators.
# Source: docs.github.com/issues/planning-and-tracking-with-projects/managing-your-project/
# managing-access-to-your-projects.
BOARD_READ, BOARD_WRITE = "organization_projects:read", "organization_projects:write"
OPERATIONS: Mapping[str, tuple[str, ...]] = {
    "query Board": (BOARD_READ,),
    "query Boards": (BOARD_READ,),
    "query Sweep": (BOARD_READ, "contents:read"),
    "query Card": (BOARD_READ, "issues:read"),
    "query Cards": (BOARD_READ, "issues:read"),
    "query CardsOfIssue": (BOARD_READ, "issues:read"),
    "query Links": ("issues:read",),
    "query Options": (BOARD_READ,),
    "query Views": (BOARD_READ,),
    "query Texts": (BOARD_READ,),
    "query OptionOfCard": (BOARD_READ,),
    "query Values": (BOARD_READ,),
    "query StatusUpdates": (BOARD_READ,),
    "query RepositoryId": ("metadata:read",),
    "query Base": ("contents:read",),
    "query Threads": ("pull_requests:read",),
    "query Merging": ("pull_requests:read",),
    "mutation DescribeColumns": (BOARD_WRITE,),
    "mutation CreateField": (BOARD_WRITE,),
    "mutation RenameField": (BOARD_WRITE,),
    "mutation MoveCard": (BOARD_WRITE,),
    "mutation SetFields": (BOARD_WRITE,),
    "mutation PlaceCard": (BOARD_WRITE,),
    "mutation AddCard": (BOARD_WRITE,),
    "mutation ArchiveCard": (BOARD_WRITE,),
    "mutation UnarchiveCard": (BOARD_WRITE,),
    "query Titles": (BOARD_READ, "issues:read"),
    "mutation AddDraft": (BOARD_WRITE,),
    "mutation DeleteCard": (BOARD_WRITE,),
    "mutation ConvertDraft": (BOARD_WRITE, "issues:write"),
    "mutation PostStatusUpdate": (BOARD_WRITE,),
    "mutation EditStatusUpdate": (BOARD_WRITE,),
    "mutation AddSubIssue": ("issues:write",),
    "mutation AddBlockedBy": ("issues:write",),
    "mutation RemoveBlockedBy": ("issues:write",),
    "mutation MarkDraft": ("pull_requests:write",),
    "mutation MarkReady": ("pull_requests:write",),
    "mutation ResolveThread": ("pull_requests:write", "contents:write"),
    # Some Apps enqueue with `contents` and `pull_requests` alone; others are refused without `merge_queues`.
    # Sources: github.com/Generous-Corp/pulp; github.com/dcoapp/app, pull request 306.
    "mutation EnqueuePull": ("pull_requests:write", "contents:write", "merge_queues:write"),
    "mutation DequeuePull": ("pull_requests:write", "contents:write", "merge_queues:write"),
    "mutation EnableAutoMerge": ("pull_requests:write", "contents:write"),
    "mutation DisableAutoMerge": ("pull_requests:write", "contents:write"),
}

# What must be granted for an event that no call asks about.
# Source: docs.github.com/webhooks/webhook-events-and-payloads#merge_group.
EVENTS: Mapping[str, str] = {"merge_group": "merge_queues:read"}


class Permissions:
    """What each REST operation needs, by its name: `GET /repos/{owner}/{repo}` and the like."""

    def __init__(self, described: dict[str, Any]) -> None:
        found: dict[str, set[tuple[str, str]]] = {}
        for permission, levels in described["permissions"].items():
            for level in ("read", "write"):
                for operation in levels[level]:
                    found.setdefault(operation, set()).add((permission, level))
        self._found = {operation: frozenset(needs) for operation, needs in found.items()}

    @classmethod
    def published(cls) -> "Permissions":
        """Return the pinned list; raises NotFetchedError."""
        return cls(json.loads(fetching.read("permissions.json")))

    def of(self, operation: str) -> Needs:
        """Return what an installation needs for it, each of which is enough; empty where nobody says."""
        return LATER.get(operation) or self._found.get(operation, frozenset())


def enough(granted: Mapping[str, str], needed: tuple[str, str]) -> bool:
    """Tell whether what is granted is as much as what is needed."""
    name, level = needed
    return LEVELS.index(granted.get(name, "none")) >= LEVELS.index(level)
