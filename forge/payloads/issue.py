"""Issues and comments as GitHub writes them."""

from forge.clock import rfc3339_or_none
from forge.payloads.account import label, reaction_rollup, user, user_or_none
from forge.payloads.application import app
from forge.payloads.view import Json, View, attributes
from forge.store.models import Comment, Issue, Pull, User


def via_app(view: View, author: User) -> Json | None:
    """Return the App that `author` is the bot of; `None` for people."""
    owner = view.store.apps.by_bot(author)
    return None if owner is None else app(view, owner)


def issue(view: View, one: Issue) -> Json:
    """Return an `issue`; a pull request's has the key `pull_request`."""
    url = view.repo_api(one.repo, f"/issues/{one.number}")
    answer: Json = {
        "url": url,
        "repository_url": view.repo_api(one.repo),
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "html_url": view.issue_html(one),
        "timeline_url": f"{url}/timeline",
        **attributes(one, "id", "node_id", "number", "title", "state", "locked", "body", "state_reason"),
        **attributes(one, "created_at", "updated_at", "closed_at"),
        "user": user(view, one.author),
        "labels": [label(view, name, one.repo) for name in one.labels],
        "assignee": user(view, one.assignees[0]) if one.assignees else None,
        "assignees": [user(view, assignee) for assignee in one.assignees],
        "milestone": None,
        "comments": len(one.comments),
        "author_association": view.association(one.repo, one.author),
        "active_lock_reason": None,
        "closed_by": user_or_none(view, one.closed_by),
        "reactions": reaction_rollup(url, one.reactions),
        "performed_via_github_app": via_app(view, one.author),
    }
    answer |= _links(one) if one.pull is None else _pull_of(view, one, one.pull)
    return answer


def hook_issue(view: View, one: Issue) -> Json:
    """Return an `issue` as webhooks carry it: without `closed_by`, and with fewer fields of the App."""
    answer = issue(view, one)
    del answer["closed_by"]
    if answer["performed_via_github_app"] is not None:
        for name in ("client_id", "installations_count"):
            del answer["performed_via_github_app"][name]
    return answer


def _links(one: Issue) -> Json:
    """Return the fields that only an issue has: the counts of its sub-issues and dependencies."""
    done = sum(child.state == "closed" for child in one.sub_issues)
    total = len(one.sub_issues)
    waiting = sum(other.state == "open" for other in one.blocked_by)
    return {
        "sub_issues_summary": {
            "total": total,
            "completed": done,
            "percent_completed": 100 * done // total if total else 0,
        },
        "issue_dependencies_summary": {
            "blocked_by": waiting,
            "total_blocked_by": len(one.blocked_by),
            "blocking": 0,
            "total_blocking": 0,
        },
    }


def _pull_of(view: View, one: Issue, pull: Pull) -> Json:
    """Return the fields that only the issue half of a pull request has."""
    page = view.issue_html(one)
    return {
        "draft": pull.draft,
        "pull_request": {
            "url": view.repo_api(one.repo, f"/pulls/{one.number}"),
            "html_url": page,
            "diff_url": f"{page}.diff",
            "patch_url": f"{page}.patch",
            "merged_at": rfc3339_or_none(pull.merged_at),
        },
    }


def comment(view: View, one: Comment) -> Json:
    """Return an `issue-comment`."""
    repo = one.issue.repo
    url = view.repo_api(repo, f"/issues/comments/{one.id}")
    return {
        "url": url,
        "html_url": f"{view.issue_html(one.issue)}#issuecomment-{one.id}",
        "issue_url": view.repo_api(repo, f"/issues/{one.issue.number}"),
        **attributes(one, "id", "node_id", "created_at", "updated_at", "body"),
        "user": user(view, one.author),
        "author_association": view.association(repo, one.author),
        "reactions": reaction_rollup(url, one.reactions),
        "performed_via_github_app": via_app(view, one.author),
    }
