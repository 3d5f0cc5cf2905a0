"""Issues, comments and labels: fields, links between issues, hidden comments."""

from typing import Any

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


@resolvers.field("Issue.blocking")
def blocking(source: Issue, scope: Scope, **arguments: Any) -> Any:
    return connection(scope.store.links.blocking(source), "blocking", arguments)


@resolvers.field("Issue.issueDependenciesSummary")
def dependencies_summary(source: Issue, scope: Scope) -> Any:
    """Return how many open issues block it and how many it blocks."""
    others = scope.store.links.blocking(source)
    return {
        "blockedBy": sum(issue.state == "open" for issue in source.blocked_by),
        "blocking": sum(issue.state == "open" for issue in others),
    }


@resolvers.mutation("minimizeComment")
def minimize(scope: Scope, given: Input) -> Input:
    """Hide a comment; GitHub writes the reason in small letters."""
    comment: Any = scope.node(given["subjectId"], Comment, ReviewComment)
    scope.require(comment, "write", Role.WRITE)
    comment.minimized_reason = str(given["classifier"]).lower().replace("_", "-")
    return {"minimizedComment": comment}


@resolvers.mutation("addSubIssue")
def add_sub_issue(scope: Scope, given: Input) -> Input:
    parent, child = scope.node(given["issueId"], Issue), scope.node(given.get("subIssueId") or "", Issue)
    scope.require(parent, "write", Role.TRIAGE)
    scope.store.links.add_sub_issue(parent, child, actor=scope.actor)
    return {"issue": parent, "subIssue": child}


@resolvers.mutation("addBlockedBy", "add_blocked_by")
@resolvers.mutation("removeBlockedBy", "remove_blocked_by")
def change_blocked_by(scope: Scope, given: Input, change: str) -> Input:
    blocked, blocking = scope.node(given["issueId"], Issue), scope.node(given["blockingIssueId"], Issue)
    scope.require(blocked, "write", Role.TRIAGE)
    getattr(scope.store.links, change)(blocked, blocking, actor=scope.actor)
    return {"issue": blocked, "blockingIssue": blocking}
