"""Issues: their links, their card's last move, who closed them, the current text of a comment."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from bot.github.api import project_queries
from bot.github.api.project_models import StatusChange
from bot.github.client import Hub, repository_path
from bot.github.errors import NotFoundError
from ledger.events.board import ABANDONED
from ledger.events.related import Blocker

TITLE_CHARACTERS = 256  # GitHub's own limit
MAX_HIDDEN = 50  # as many as GitHub allows in all


def blockers(content: Mapping[str, Any]) -> tuple[Blocker, ...]:
    """Return the blockers of a card's issue that the App may see, in the order of names."""
    nodes = (content.get("blockedBy") or {}).get("nodes") or ()
    visible = (
        Blocker(
            node["repository"]["nameWithOwner"],
            int(node["number"]),
            str(node["title"])[:TITLE_CHARACTERS],
            _state(node),
        )
        for node in nodes
        if node
    )
    return tuple(sorted(visible, key=lambda blocker: (blocker.repository, blocker.number)))


def _state(node: Mapping[str, Any]) -> str:
    if node["state"] == "OPEN":
        return "open"
    reason = str(node.get("stateReason") or "").lower()
    return reason if reason in ABANDONED else "completed"


def count_hidden(content: Mapping[str, Any]) -> int:
    """Return the number of open blockers that the App may not see."""
    counted = int((content.get("issueDependenciesSummary") or {}).get("blockedBy") or 0)
    return min(max(0, counted - sum(blocker.state == "open" for blocker in blockers(content))), MAX_HIDDEN)


def parent(content: Mapping[str, Any]) -> str:
    """Return the parent issue as owner/repository#number; empty for none."""
    issue = content.get("parent")
    return f"{issue['repository']['nameWithOwner']}#{issue['number']}" if issue else ""


def public(content: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the repositories of blockers and parent that everybody may read, in the order of names.

    An internal one is for an enterprise's members. Source:
    docs.github.com/graphql/reference/enums#repositoryvisibility.
    """
    linked = ((content.get("blockedBy") or {}).get("nodes") or (), (content.get("parent"),))
    repositories = (issue["repository"] for issues in linked for issue in issues if issue)
    return tuple(sorted({it["nameWithOwner"] for it in repositories if it.get("visibility") == "PUBLIC"}))


def last_move(content: Mapping[str, Any], board_id: str) -> StatusChange | None:
    """Return the newest move of an issue's card on the board; None if its timeline has none.

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
    """Make an issue a sub-issue of another one; raises RefusedError if it has a parent already."""
    hub.graphql(project_queries.ADD_SUB_ISSUE, {"parent": parent_id, "child": child_id})


def add_blocked_by(hub: Hub, blocked_id: str, blocking_id: str) -> None:
    """Make an issue wait for another one; raises RefusedError if it does already."""
    hub.graphql(project_queries.ADD_BLOCKED_BY, {"blocked": blocked_id, "blocking": blocking_id})


def remove_blocked_by(hub: Hub, blocked_id: str, blocking_id: str) -> None:
    """Let an issue no longer wait for another one; raises RefusedError if it does not."""
    hub.graphql(project_queries.REMOVE_BLOCKED_BY, {"blocked": blocked_id, "blocking": blocking_id})


def is_blocked_by(hub: Hub, blocked_id: str, blocking_id: str) -> bool:
    """Tell whether an issue waits for another one now: GitHub has no fixed words where it does already."""
    nodes = (_links(hub, blocked_id).get("blockedBy") or {}).get("nodes") or ()
    return any(node and node["id"] == blocking_id for node in nodes)


def is_sub_issue(hub: Hub, parent_id: str, child_id: str) -> bool:
    """Tell whether an issue is a sub-issue of the other one now."""
    return (_links(hub, child_id).get("parent") or {}).get("id") == parent_id


def _links(hub: Hub, issue_id: str) -> Mapping[str, Any]:
    links: Mapping[str, Any] = hub.graphql(
        project_queries.LINKS, {"issue": issue_id}, may_miss=frozenset({"node.parent"})
    )["node"]
    return links


def body_of(hub: Hub, repository: str, number: int) -> str:
    """Return the issue's description as it is now.

    Source: docs.github.com/rest/issues/issues#get-an-issue.
    """
    return str(hub.rest("GET", f"{repository_path(repository)}/issues/{number}").body.get("body") or "")


def write_body(hub: Hub, repository: str, number: int, text: str) -> str:
    """Replace the issue's description and return it as GitHub has it then.

    Source: docs.github.com/rest/issues/issues#update-an-issue.
    """
    path = f"{repository_path(repository)}/issues/{number}"
    return str(hub.rest("PATCH", path, body={"body": text}).body.get("body") or "")


def add_labels(hub: Hub, repository: str, number: int, labels: Sequence[str]) -> tuple[str, ...]:
    """Add labels to an issue and return all that it has then, sorted.

    GitHub makes those that the repository does not have yet.

    Source: docs.github.com/rest/issues/labels#add-labels-to-an-issue.
    """
    path = f"{repository_path(repository)}/issues/{number}/labels"
    there = hub.rest("POST", path, body={"labels": list(labels)}).body
    return tuple(sorted(str(label["name"]) for label in there))


def change_assignees(
    hub: Hub, repository: str, number: int, people: Sequence[str], *, assign: bool
) -> tuple[str, ...]:
    """Add people to an issue's assignees, or remove them; return all that it has then.

    GitHub passes by whoever cannot be assigned, and removes nobody who is not. Source:
    docs.github.com/rest/issues/assignees#add-assignees-to-an-issue.
    """
    path = f"{repository_path(repository)}/issues/{number}/assignees"
    body = {"assignees": list(people)}
    answer = hub.rest("POST", path, body=body) if assign else hub.rest("DELETE", path, body=body)
    return tuple(str(it["login"]) for it in answer.body.get("assignees") or ())


def find_closer(hub: Hub, repository: str, number: int) -> str:
    """Return the login that closed the issue last; empty if it is open or gone, or GitHub names nobody.

    Source: docs.github.com/rest/issues/issues#get-an-issue (`find_closer`).
    """
    try:
        issue = hub.rest("GET", f"{repository_path(repository)}/issues/{number}").body
    except NotFoundError:
        return ""
    return str((issue.get("closed_by") or {}).get("login") or "")


def comment_now(hub: Hub, repository: str, place: str, comment_id: int, number: int) -> str | None:
    """Return the comment's current text; None when it was deleted.

    `place`: issue, pull, review, or the verdict of a review of pull request `number`.

    Source: docs.github.com/rest/issues/comments#get-an-issue-comment,
    docs.github.com/rest/pulls/comments#get-a-review-comment-for-a-pull-request and
    docs.github.com/rest/pulls/reviews#get-a-review-for-a-pull-request.
    """
    root = repository_path(repository)
    family = "pulls" if place == "review" else "issues"
    try:
        if place in ("issue", "pull", "review"):
            comment = hub.rest("GET", f"{root}/{family}/comments/{comment_id}").body
        else:
            comment = hub.rest("GET", f"{root}/pulls/{number}/reviews/{comment_id}").body
    except NotFoundError:
        return None
    return str(comment.get("body") or "")
