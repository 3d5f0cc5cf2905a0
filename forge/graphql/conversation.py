"""Issues, pull requests and their talk: what REST cannot say or do."""

from typing import Any

from forge.errors import UnprocessableError
from forge.graphql.connections import connection
from forge.graphql.resolving import Input, Resolvers
from forge.graphql.scope import Scope
from forge.store.models import Comment, Issue, Label, Pull, ReviewComment, Role

resolvers = Resolvers()


@resolvers.field("Issue.state")
def state(source: Issue, _scope: Scope) -> str:
    """Return OPEN or CLOSED."""
    return source.state.upper()


@resolvers.field("Issue.stateReason")
def state_reason(source: Issue, _scope: Scope) -> str | None:
    """Return why an issue is in its state."""
    return source.state_reason.upper() if source.state_reason else None


@resolvers.field("Issue.closed")
def issue_closed(source: Issue, _scope: Scope) -> bool:
    """Return whether an issue is closed."""
    return source.state == "closed"


@resolvers.field("Issue.repository")
def repository(source: Issue, _scope: Scope) -> Any:
    """Return the repository of an issue."""
    return source.repo


def _issue(source: Any) -> Issue:
    found = source.issue if isinstance(source, Pull) else source
    assert isinstance(found, Issue)
    return found


@resolvers.field("Issue.body", "PullRequest.body")
def body(source: Any, _scope: Scope) -> str:
    """Return the text; empty when there is none."""
    return _issue(source).body or ""


@resolvers.field("Issue.url", "PullRequest.url")
def url(source: Any, scope: Scope) -> str:
    """Return the page."""
    return scope.view.issue_html(_issue(source))


@resolvers.field("Issue.labels", "PullRequest.labels")
def labels(source: Any, _scope: Scope, **arguments: Any) -> Any:
    """Return the labels."""
    return connection(_issue(source).labels, "labels", arguments)


@resolvers.field("Issue.assignees", "PullRequest.assignees")
def assignees(source: Any, _scope: Scope, **arguments: Any) -> Any:
    """Return the assignees."""
    return connection(_issue(source).assignees, "assignees", arguments)


@resolvers.field("Issue.comments", "PullRequest.comments")
def comments(source: Any, _scope: Scope, **arguments: Any) -> Any:
    """Return the comments, oldest first."""
    return connection(_issue(source).comments, "comments", arguments)


@resolvers.field("Issue.projectItems", "PullRequest.projectItems")
def project_items(source: Any, scope: Scope, includeArchived: bool = True, **arguments: Any) -> Any:
    """Return the cards on the boards that the caller may see."""
    items = scope.store.projects.items_of(source)
    shown = [one for one in items if scope.may_see(one) and (includeArchived or one.archived_at is None)]
    return connection(shown, "projectItems", arguments)


@resolvers.field("Issue.timelineItems")
def timeline_items(source: Issue, scope: Scope, **arguments: Any) -> Any:
    """Return the moves of its cards, oldest first: of the timeline, the forge tells no more."""
    items = [one for one in scope.store.projects.items_of(source) if scope.may_see(one)]
    changes = sorted(
        (change for item in items for change in item.status_changes), key=lambda it: it.created_at
    )
    return connection(changes, "timelineItems", arguments)


@resolvers.field("Issue.subIssues")
def sub_issues(source: Issue, _scope: Scope, **arguments: Any) -> Any:
    """Return the sub-issues."""
    return connection(source.sub_issues, "subIssues", arguments)


@resolvers.field("Issue.subIssuesSummary")
def sub_issues_summary(source: Issue, _scope: Scope) -> Any:
    """Return how many sub-issues are done."""
    total = len(source.sub_issues)
    done = sum(one.state == "closed" for one in source.sub_issues)
    return {"total": total, "completed": done, "percentCompleted": 100 * done // total if total else 0}


@resolvers.field("Issue.blockedBy")
def blocked_by(source: Issue, _scope: Scope, **arguments: Any) -> Any:
    """Return what an issue waits for."""
    return connection(source.blocked_by, "blockedBy", arguments)


@resolvers.field("Issue.blocking")
def blocking(source: Issue, scope: Scope, **arguments: Any) -> Any:
    """Return what waits for an issue."""
    return connection(scope.store.links.blocking(source), "blocking", arguments)


@resolvers.field("Issue.issueDependenciesSummary")
def dependencies_summary(source: Issue, scope: Scope) -> Any:
    """Return how many issues it waits for and how many wait for it: the open ones, and all."""
    others = scope.store.links.blocking(source)
    return {
        "blockedBy": sum(one.state == "open" for one in source.blocked_by),
        "totalBlockedBy": len(source.blocked_by),
        "blocking": sum(one.state == "open" for one in others),
        "totalBlocking": len(others),
    }


@resolvers.field("Label.url")
def label_url(source: Label, scope: Scope) -> str:
    """Return the page of a label."""
    return scope.view.html(f"/labels/{source.name}")


@resolvers.field("IssueComment.url")
def comment_url(source: Comment, scope: Scope) -> str:
    """Return the place of a comment."""
    return f"{scope.view.issue_html(source.issue)}#issuecomment-{source.id}"


@resolvers.field("IssueComment.repository")
def comment_repository(source: Comment, _scope: Scope) -> Any:
    """Return the repository of a comment."""
    return source.issue.repo


@resolvers.field("IssueComment.pullRequest")
def comment_pull(source: Comment, _scope: Scope) -> Pull | None:
    """Return the pull request of a comment; `None` on an issue."""
    return source.issue.pull


@resolvers.field("IssueComment.isMinimized", "PullRequestReviewComment.isMinimized")
def is_minimized(source: Comment | ReviewComment, _scope: Scope) -> bool:
    """Return whether a comment is hidden."""
    return source.minimized_reason is not None


@resolvers.mutation("minimizeComment")
def minimize(scope: Scope, given: Input) -> Input:
    """Hide a comment; GitHub writes the reason in small letters."""
    return _set_minimized(scope, given, str(given["classifier"]).lower().replace("_", "-"))


@resolvers.mutation("unminimizeComment")
def unminimize(scope: Scope, given: Input) -> Input:
    """Show a hidden comment again."""
    comment = _set_minimized(scope, given, None)["minimizedComment"]
    return {"unminimizedComment": comment}


def _set_minimized(scope: Scope, given: Input, reason: str | None) -> Input:
    comment: Any = scope.node(given["subjectId"], object)
    if not isinstance(comment, Comment | ReviewComment):
        raise UnprocessableError("The subject cannot be minimized")
    scope.require(comment, "write", Role.WRITE)
    comment.minimized_reason = reason
    return {"minimizedComment": comment}


@resolvers.mutation("addSubIssue")
def add_sub_issue(scope: Scope, given: Input) -> Input:
    """Make an issue a part of another one."""
    parent, child = scope.node(given["issueId"], Issue), scope.node(given.get("subIssueId") or "", Issue)
    scope.require(parent, "write", Role.TRIAGE)
    replace = bool(given.get("replaceParent"))
    scope.store.links.add_sub_issue(parent, child, actor=scope.actor, replace=replace)
    return {"issue": parent, "subIssue": child}


@resolvers.mutation("removeSubIssue")
def remove_sub_issue(scope: Scope, given: Input) -> Input:
    """Let an issue no longer be a part of another one."""
    parent, child = scope.node(given["issueId"], Issue), scope.node(given["subIssueId"], Issue)
    scope.require(parent, "write", Role.TRIAGE)
    scope.store.links.remove_sub_issue(parent, child, actor=scope.actor)
    return {"issue": parent, "subIssue": child}


@resolvers.mutation("addBlockedBy")
def add_blocked_by(scope: Scope, given: Input) -> Input:
    """Let an issue wait for another one."""
    issue, other = scope.node(given["issueId"], Issue), scope.node(given["blockingIssueId"], Issue)
    scope.require(issue, "write", Role.TRIAGE)
    scope.store.links.add_blocked_by(issue, other, actor=scope.actor)
    return {"issue": issue, "blockingIssue": other}


@resolvers.mutation("removeBlockedBy")
def remove_blocked_by(scope: Scope, given: Input) -> Input:
    """Let an issue no longer wait for another one."""
    issue, other = scope.node(given["issueId"], Issue), scope.node(given["blockingIssueId"], Issue)
    scope.require(issue, "write", Role.TRIAGE)
    scope.store.links.remove_blocked_by(issue, other, actor=scope.actor)
    return {"issue": issue, "blockingIssue": other}
