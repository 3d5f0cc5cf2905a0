"""Issues, comments and labels: fields, links between issues, hidden comments."""

from typing import Any

from forge.errors import UnprocessableError
from forge.graphql.connections import connection
from forge.graphql.resolving import Input, Resolvers
from forge.graphql.scope import Scope
from forge.store.models import Comment, Issue, ReviewComment, Role

resolvers = Resolvers()
resolvers.attributes("Issue", repository="repo")
resolvers.connections(
    "Issue",
    labels="labels",
    assignees="assignees",
    comments="comments",
    subIssues="sub_issues",
    blockedBy="blocked_by",
)
resolvers.field("Issue.state")(lambda issue, _scope: issue.state.upper())
resolvers.field("Issue.stateReason")(lambda issue, _scope: issue.state_reason and issue.state_reason.upper())
resolvers.field("Issue.closed")(lambda issue, _scope: issue.state == "closed")
resolvers.field("Issue.body")(lambda issue, _scope: issue.body or "")
resolvers.field("Issue.url")(lambda issue, scope: scope.view.issue_html(issue))
resolvers.field("Label.url")(lambda label, scope: scope.view.html(f"/labels/{label.name}"))
resolvers.attributes("IssueComment", repository="issue.repo", pullRequest="issue.pull")
resolvers.presences("IssueComment", isMinimized="minimized_reason")
resolvers.presences("PullRequestReviewComment", isMinimized="minimized_reason")


@resolvers.field("IssueComment.url")
def comment_url(source: Comment, scope: Scope) -> str:
    return f"{scope.view.issue_html(source.issue)}#issuecomment-{source.id}"


@resolvers.field("Issue.projectItems", "PullRequest.projectItems")
def project_items(source: Any, scope: Scope, includeArchived: bool = True, **arguments: Any) -> Any:
    """Return the cards on the boards that the caller may see."""
    items = scope.store.projects.items_of(source)
    shown = [item for item in items if scope.may_see(item) and (includeArchived or item.archived_at is None)]
    return connection(shown, "projectItems", arguments)


@resolvers.field("Issue.timelineItems")
def timeline_items(source: Issue, scope: Scope, **arguments: Any) -> Any:
    """Return the moves of the issue's cards, oldest first; the forge has no other timeline items."""
    items = [item for item in scope.store.projects.items_of(source) if scope.may_see(item)]
    changes = [change for item in items for change in item.status_changes]
    return connection(sorted(changes, key=lambda change: change.created_at), "timelineItems", arguments)


@resolvers.field("Issue.subIssuesSummary")
def sub_issues_summary(source: Issue, _scope: Scope) -> Any:
    """Return the number of sub-issues, and how many are closed."""
    total = len(source.sub_issues)
    done = sum(child.state == "closed" for child in source.sub_issues)
    return {"total": total, "completed": done, "percentCompleted": 100 * done // total if total else 0}


@resolvers.field("Issue.blocking")
def blocking(source: Issue, scope: Scope, **arguments: Any) -> Any:
    return connection(scope.store.links.blocking(source), "blocking", arguments)


@resolvers.field("Issue.issueDependenciesSummary")
def dependencies_summary(source: Issue, scope: Scope) -> Any:
    """Return how many issues block it and how many it blocks: the open ones, and all."""
    others = scope.store.links.blocking(source)
    return {
        "blockedBy": sum(issue.state == "open" for issue in source.blocked_by),
        "totalBlockedBy": len(source.blocked_by),
        "blocking": sum(issue.state == "open" for issue in others),
        "totalBlocking": len(others),
    }


def _hidden(scope: Scope, given: Input, reason: str | None) -> Comment | ReviewComment:
    comment: Any = scope.node(given["subjectId"], object)
    if not isinstance(comment, Comment | ReviewComment):
        raise UnprocessableError("The subject cannot be minimized")
    scope.require(comment, "write", Role.WRITE)
    comment.minimized_reason = reason
    return comment


@resolvers.mutation("minimizeComment")
def minimize(scope: Scope, given: Input) -> Input:
    """Hide a comment; GitHub writes the reason in small letters."""
    return {"minimizedComment": _hidden(scope, given, str(given["classifier"]).lower().replace("_", "-"))}


@resolvers.mutation("unminimizeComment")
def unminimize(scope: Scope, given: Input) -> Input:
    return {"unminimizedComment": _hidden(scope, given, None)}


def _linked(scope: Scope, given: Input, other: str) -> tuple[Issue, Issue]:
    """Return the issue that is changed and the one that it is linked with; raises as `Scope.require`."""
    issue, linked = scope.node(given["issueId"], Issue), scope.node(given.get(other) or "", Issue)
    scope.require(issue, "write", Role.TRIAGE)
    return issue, linked


@resolvers.mutation("addSubIssue")
def add_sub_issue(scope: Scope, given: Input) -> Input:
    parent, child = _linked(scope, given, "subIssueId")
    replace = bool(given.get("replaceParent"))
    scope.store.links.add_sub_issue(parent, child, actor=scope.actor, replace=replace)
    return {"issue": parent, "subIssue": child}


@resolvers.mutation("removeSubIssue")
def remove_sub_issue(scope: Scope, given: Input) -> Input:
    parent, child = _linked(scope, given, "subIssueId")
    scope.store.links.remove_sub_issue(parent, child, actor=scope.actor)
    return {"issue": parent, "subIssue": child}


@resolvers.mutation("addBlockedBy")
def add_blocked_by(scope: Scope, given: Input) -> Input:
    issue, other = _linked(scope, given, "blockingIssueId")
    scope.store.links.add_blocked_by(issue, other, actor=scope.actor)
    return {"issue": issue, "blockingIssue": other}


@resolvers.mutation("removeBlockedBy")
def remove_blocked_by(scope: Scope, given: Input) -> Input:
    issue, other = _linked(scope, given, "blockingIssueId")
    scope.store.links.remove_blocked_by(issue, other, actor=scope.actor)
    return {"issue": issue, "blockingIssue": other}
