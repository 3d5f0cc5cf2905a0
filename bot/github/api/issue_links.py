"""Reads and writes how issues belong together on GitHub: dependencies and sub-issues."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from bot.github.api import project_queries
from bot.github.api.project_models import StatusChange
from bot.github.client import Hub
from ledger.events.board import ABANDONED
from ledger.events.related import Blocker

TITLE_CHARACTERS = 256  # GitHub's own limit
MAX_HIDDEN = 50  # as many as GitHub allows in all


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
    return min(max(0, counted - sum(one.state == "open" for one in blockers(content))), MAX_HIDDEN)


def parent(content: Mapping[str, Any]) -> str:
    """Return the issue that it is a part of as owner/repository#number; empty for none."""
    found = content.get("parent")
    return f"{found['repository']['nameWithOwner']}#{found['number']}" if found else ""


def last_move(content: Mapping[str, Any], board_id: str) -> StatusChange | None:
    """Return the newest move of an issue's card on the board; None where its timeline tells of none.

    Source: docs.github.com/graphql/reference/objects#projectv2itemstatuschangedevent.
    """
    nodes = (content.get("timelineItems") or {}).get("nodes") or ()
    moves = [node for node in nodes if node and (node.get("project") or {}).get("id") == board_id]
    if not moves:
        return None
    newest = moves[-1]  # by GitHub's order: times have whole seconds
    actor = newest.get("actor") or {}
    login = str(actor.get("login") or "")
    if actor.get("__typename") == "Bot":  # GraphQL leaves the end of a bot's login out, REST does not
        login = login.removesuffix("[bot]") + "[bot]"
    return StatusChange(str(newest["status"]), login, datetime.fromisoformat(newest["createdAt"]))


def add_sub_issue(hub: Hub, parent_id: str, child_id: str) -> None:
    """Make an issue a part of another one; raises RefusedError for one that is a part already."""
    hub.graphql(project_queries.ADD_SUB_ISSUE, {"parent": parent_id, "child": child_id})
