"""Reads and writes how issues belong together on GitHub: dependencies and sub-issues."""

from collections.abc import Mapping
from typing import Any

from bot.github import documents
from bot.github.hub import Hub
from ledger.events.board import ABANDONED
from ledger.events.related import Blocker

TITLE_CHARACTERS = 256  # GitHub's own limit
MOST_HIDDEN = 50  # as many as GitHub allows in all


def blockers(content: Mapping[str, Any]) -> tuple[Blocker, ...]:
    """Return what an issue of a card is blocked by, as far as the App may see it, in the order of names."""
    nodes = (content.get("blockedBy") or {}).get("nodes") or ()
    found = (
        Blocker(
            node["repository"]["nameWithOwner"],
            int(node["number"]),
            str(node["title"])[:TITLE_CHARACTERS],
            _state(node),
        )
        for node in nodes
        if node
    )
    return tuple(sorted(found, key=lambda one: (one.repository, one.number)))


def _state(node: Mapping[str, Any]) -> str:
    if node["state"] == "OPEN":
        return "open"
    reason = str(node.get("stateReason") or "").lower()
    return reason if reason in ABANDONED else "completed"


def hidden(content: Mapping[str, Any]) -> int:
    """Return how many open blockers the issue has beyond those that the App may see."""
    counted = int((content.get("issueDependenciesSummary") or {}).get("blockedBy") or 0)
    return min(max(0, counted - sum(one.state == "open" for one in blockers(content))), MOST_HIDDEN)


def parent(content: Mapping[str, Any]) -> str:
    """Return the issue that it is a part of as owner/repository#number; empty for none."""
    found = content.get("parent")
    return f"{found['repository']['nameWithOwner']}#{found['number']}" if found else ""


def add_sub_issue(hub: Hub, parent_id: str, child_id: str) -> None:
    """Make an issue a part of another one; raises RefusedError for one that is a part already."""
    hub.graphql(documents.ADD_SUB_ISSUE, {"parent": parent_id, "child": child_id})
