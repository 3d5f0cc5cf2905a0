"""Reads what the board does not say of an issue, and what one of its comments says now."""

from bot.github.client import Hub, repository_path
from bot.github.errors import NotFoundError


def closed_by(hub: Hub, repository: str, number: int) -> str:
    """Return who closed the issue last; empty when it is open or gone, or nobody is named.

    Source: docs.github.com/rest/issues/issues#get-an-issue (`closed_by`).
    """
    try:
        found = hub.rest("GET", f"{repository_path(repository)}/issues/{number}").body
    except NotFoundError:
        return ""
    return str((found.get("closed_by") or {}).get("login") or "")


def comment_now(hub: Hub, repository: str, place: str, comment_id: int, number: int) -> str | None:
    """Return the comment's text as it is now; None when it was deleted. `place`: issue, pull, review, or else
    a review of pull request `number`, by its verdict.

    Source: docs.github.com/rest/issues/comments#get-an-issue-comment,
    docs.github.com/rest/pulls/comments#get-a-review-comment-for-a-pull-request and
    docs.github.com/rest/pulls/reviews#get-a-review-for-a-pull-request.
    """
    root = repository_path(repository)
    family = "pulls" if place == "review" else "issues"
    try:
        if place in ("issue", "pull", "review"):
            found = hub.rest("GET", f"{root}/{family}/comments/{comment_id}").body
        else:
            found = hub.rest("GET", f"{root}/pulls/{number}/reviews/{comment_id}").body
    except NotFoundError:
        return None
    return str(found.get("body") or "")
