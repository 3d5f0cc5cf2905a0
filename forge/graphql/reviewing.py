"""Pull requests: fields, drafts, reviews, threads and their resolution."""

from forge.graphql.resolving import Input, Resolvers
from forge.graphql.scope import Scope
from forge.store.models import Pull, Review, ReviewComment, Role, Thread

resolvers = Resolvers()
resolvers.attributes(
    "PullRequest",
    title="issue.title",
    author="issue.author",
    isDraft="draft",
    headRefOid="head_sha",
    repository="repo",
)
resolvers.presences("PullRequest", merged="merged_at")
resolvers.connections(
    "PullRequest",
    labels="issue.labels",
    assignees="issue.assignees",
    comments="issue.comments",
    reviews="reviews",
    reviewThreads="threads",
)
resolvers.field("PullRequest.body")(lambda pull, _scope: pull.issue.body or "")
resolvers.field("PullRequest.url")(lambda pull, scope: scope.view.issue_html(pull.issue))
resolvers.field("PullRequest.closed")(lambda pull, _scope: pull.issue.state == "closed")
resolvers.attributes(
    "PullRequestReviewThread",
    isOutdated="outdated",
    pullRequest="pull",
    repository="pull.repo",
)
resolvers.presences("PullRequestReviewThread", isResolved="resolved_by")
resolvers.connections("PullRequestReviewThread", comments="comments")
resolvers.attributes(
    "PullRequestReviewComment",
    path="thread.path",
    outdated="thread.outdated",
    pullRequest="thread.pull",
    repository="thread.pull.repo",
)


@resolvers.field("PullRequest.state")
def state(source: Pull, _scope: Scope) -> str:
    return "MERGED" if source.merged_at is not None else source.issue.state.upper()


@resolvers.field("PullRequest.mergeable")
def mergeable(source: Pull, scope: Scope) -> str:
    return {None: "UNKNOWN", True: "MERGEABLE", False: "CONFLICTING"}[scope.store.pulls.mergeable(source)]


@resolvers.field("PullRequest.reviewDecision")
def review_decision(source: Pull, scope: Scope) -> str | None:
    """Return the verdict of the reviewers together; `None` without any."""
    verdicts = set(scope.store.reviews.verdicts(source).values())
    if "CHANGES_REQUESTED" in verdicts:
        return "CHANGES_REQUESTED"
    if scope.store.reviews.count(source, "APPROVED") < source.repo.protected.get(source.base_ref, 0):
        return "REVIEW_REQUIRED"
    return "APPROVED" if verdicts else None


@resolvers.field("PullRequestReview.url")
def review_url(source: Review, scope: Scope) -> str:
    return f"{scope.view.issue_html(source.pull.issue)}#pullrequestreview-{source.id}"


@resolvers.field("PullRequestReviewThread.line")
def line(source: Thread, _scope: Scope) -> int | None:
    """Return the line; `None` once it is outdated."""
    return None if source.outdated else source.line


@resolvers.field("PullRequestReviewComment.line")
def comment_line(source: ReviewComment, _scope: Scope) -> int | None:
    """Return the line of a comment; `None` once it is outdated."""
    return None if source.thread.outdated else source.thread.line


@resolvers.field("PullRequestReviewComment.url")
def comment_url(source: ReviewComment, scope: Scope) -> str:
    return f"{scope.view.issue_html(source.thread.pull.issue)}#discussion_r{source.id}"


@resolvers.mutation("markPullRequestReadyForReview", False)
@resolvers.mutation("convertPullRequestToDraft", True)
def set_draft(scope: Scope, given: Input, draft: bool) -> Input:
    """Put a pull request into draft or take it out; its author may without a role."""
    pull = scope.node(given["pullRequestId"], Pull)
    scope.require(pull, "write", Role.READ if pull.issue.author is scope.actor else Role.WRITE)
    scope.store.pulls.set_draft(pull, draft, actor=scope.actor)
    return {"pullRequest": pull}


@resolvers.mutation("resolveReviewThread")
def resolve(scope: Scope, given: Input) -> Input:
    thread = scope.node(given["threadId"], Thread)
    scope.require(thread, "write", Role.WRITE)
    scope.store.reviews.set_resolved(thread, True, actor=scope.actor)
    return {"thread": thread}


@resolvers.mutation("addPullRequestReviewThreadReply")
def reply(scope: Scope, given: Input) -> Input:
    thread = scope.node(given["pullRequestReviewThreadId"], Thread)
    scope.require(thread, "write")
    return {"comment": scope.store.reviews.reply(thread, given["body"], actor=scope.actor)}
