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


def issue(view: View, issue: Issue) -> Json:
    """Return an `issue`; a pull request's has the key `pull_request`."""
    url = view.repo_api(issue.repo, f"/issues/{issue.number}")
    answer: Json = {
        "url": url,
        "repository_url": view.repo_api(issue.repo),
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "html_url": view.issue_html(issue),
        "timeline_url": f"{url}/timeline",
        **attributes(issue, "id", "node_id", "number", "title", "state", "locked", "body", "state_reason"),
        **attributes(issue, "created_at", "updated_at", "closed_at"),
        "user": user(view, issue.author),
        "labels": [label(view, name, issue.repo) for name in issue.labels],
        "assignee": user(view, issue.assignees[0]) if issue.assignees else None,
        "assignees": [user(view, assignee) for assignee in issue.assignees],
        "milestone": None,
        "comments": len(issue.comments),
        "author_association": view.association(issue.repo, issue.author),
        "active_lock_reason": None,
        "closed_by": user_or_none(view, issue.closed_by),
        "reactions": reaction_rollup(url, issue.reactions),
        "performed_via_github_app": via_app(view, issue.author),
    }
    answer |= _links(issue) if issue.pull is None else _pull_of(view, issue, issue.pull)
    return answer


def hook_issue(view: View, subject: Issue) -> Json:
    """Return an `issue` as webhooks carry it: without `closed_by`, and with fewer fields of the App."""
    answer = issue(view, subject)
    del answer["closed_by"]
    if answer["performed_via_github_app"] is not None:
        for name in ("client_id", "installations_count"):
            del answer["performed_via_github_app"][name]
    return answer


def _links(issue: Issue) -> Json:
    """Return the fields that only an issue has: the counts of its sub-issues and dependencies."""
    done = sum(child.state == "closed" for child in issue.sub_issues)
    total = len(issue.sub_issues)
    waiting = sum(other.state == "open" for other in issue.blocked_by)
    return {
        "sub_issues_summary": {
            "total": total,
            "completed": done,
            "percent_completed": 100 * done // total if total else 0,
        },
        "issue_dependencies_summary": {
            "blocked_by": waiting,
            "total_blocked_by": len(issue.blocked_by),
            "blocking": 0,
            "total_blocking": 0,
        },
    }


def _pull_of(view: View, issue: Issue, pull: Pull) -> Json:
    """Return the fields that only the issue half of a pull request has."""
    page = view.issue_html(issue)
    return {
        "draft": pull.draft,
        "pull_request": {
            "url": view.repo_api(issue.repo, f"/pulls/{issue.number}"),
            "html_url": page,
            "diff_url": f"{page}.diff",
            "patch_url": f"{page}.patch",
            "merged_at": rfc3339_or_none(pull.merged_at),
        },
    }


def comment(view: View, comment: Comment) -> Json:
    """Return an `issue-comment`."""
    repo = comment.issue.repo
    url = view.repo_api(repo, f"/issues/comments/{comment.id}")
    return {
        "url": url,
        "html_url": f"{view.issue_html(comment.issue)}#issuecomment-{comment.id}",
        "issue_url": view.repo_api(repo, f"/issues/{comment.issue.number}"),
        **attributes(comment, "id", "node_id", "created_at", "updated_at", "body"),
        "user": user(view, comment.author),
        "author_association": view.association(repo, comment.author),
        "reactions": reaction_rollup(url, comment.reactions),
        "performed_via_github_app": via_app(view, comment.author),
    }
