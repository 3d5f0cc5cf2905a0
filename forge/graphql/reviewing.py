"""Pull requests: drafts, review threads and their resolution."""

from typing import Any

from forge.clock import rfc3339_or_none
from forge.graphql.connections import connection
from forge.graphql.resolving import Input, Resolvers
from forge.graphql.scope import Scope
from forge.store.models import Pull, Review, ReviewComment, Role, Thread

resolvers = Resolvers()


@resolvers.field("PullRequest.state")
def state(source: Pull, _scope: Scope) -> str:
    """Return OPEN, CLOSED or MERGED."""
    return "MERGED" if source.merged_at is not None else source.issue.state.upper()


@resolvers.field("PullRequest.title")
def title(source: Pull, _scope: Scope) -> str:
    """Return the title."""
    return source.issue.title


@resolvers.field("PullRequest.author")
def author(source: Pull, _scope: Scope) -> Any:
    """Return who opened it."""
    return source.issue.author


@resolvers.field("PullRequest.createdAt")
def created_at(source: Pull, _scope: Scope) -> str | None:
    """Return when it was opened."""
    return rfc3339_or_none(source.issue.created_at)


@resolvers.field("PullRequest.updatedAt")
def updated_at(source: Pull, _scope: Scope) -> str | None:
    """Return when it changed last."""
    return rfc3339_or_none(source.issue.updated_at)


@resolvers.field("PullRequest.closedAt")
def closed_at(source: Pull, _scope: Scope) -> str | None:
    """Return when it was closed."""
    return rfc3339_or_none(source.issue.closed_at)


@resolvers.field("PullRequest.closed")
def closed(source: Pull, _scope: Scope) -> bool:
    """Return whether it is closed, merged or not."""
    return source.issue.state == "closed"


@resolvers.field("PullRequest.merged")
def merged(source: Pull, _scope: Scope) -> bool:
    """Return whether it is merged."""
    return source.merged_at is not None


@resolvers.field("PullRequest.isDraft")
def is_draft(source: Pull, _scope: Scope) -> bool:
    """Return whether it is a draft."""
    return source.draft


@resolvers.field("PullRequest.headRefName")
def head_ref_name(source: Pull, _scope: Scope) -> str:
    """Return the branch that it brings."""
    return source.head_ref


@resolvers.field("PullRequest.headRefOid")
def head_ref_oid(source: Pull, _scope: Scope) -> str:
    """Return the commit that it brings."""
    return source.head_sha


@resolvers.field("PullRequest.baseRefName")
def base_ref_name(source: Pull, _scope: Scope) -> str:
    """Return the branch that it goes into."""
    return source.base_ref


@resolvers.field("PullRequest.baseRefOid")
def base_ref_oid(source: Pull, _scope: Scope) -> str:
    """Return the commit that it goes onto."""
    return source.base_sha


@resolvers.field("PullRequest.repository")
def repository(source: Pull, _scope: Scope) -> Any:
    """Return the repository of a pull request."""
    return source.repo


@resolvers.field("PullRequest.mergeable")
def mergeable(source: Pull, scope: Scope) -> str:
    """Return MERGEABLE, CONFLICTING or UNKNOWN."""
    found = scope.store.pulls.mergeable(source)
    return "UNKNOWN" if found is None else "MERGEABLE" if found else "CONFLICTING"


@resolvers.field("PullRequest.reviewDecision")
def review_decision(source: Pull, scope: Scope) -> str | None:
    """Return the verdict of the reviewers together; `None` without any."""
    verdicts = set(scope.store.reviews.verdicts(source).values())
    if "CHANGES_REQUESTED" in verdicts:
        return "CHANGES_REQUESTED"
    if scope.store.reviews.count(source, "APPROVED") < source.repo.protected.get(source.base_ref, 0):
        return "REVIEW_REQUIRED"
    return "APPROVED" if verdicts else None


@resolvers.field("PullRequest.reviews")
def reviews(source: Pull, _scope: Scope, **arguments: Any) -> Any:
    """Return the reviews, oldest first."""
    return connection(source.reviews, "reviews", arguments)


@resolvers.field("PullRequest.reviewThreads")
def review_threads(source: Pull, _scope: Scope, **arguments: Any) -> Any:
    """Return the review threads, oldest first."""
    return connection(source.threads, "reviewThreads", arguments)


@resolvers.field("PullRequestReview.createdAt", "PullRequestReview.updatedAt")
def review_date(source: Review, _scope: Scope) -> str | None:
    """Return when a review was submitted."""
    return rfc3339_or_none(source.submitted_at)


@resolvers.field("PullRequestReview.url")
def review_url(source: Review, scope: Scope) -> str:
    """Return the place of a review."""
    return f"{scope.view.issue_html(source.pull.issue)}#pullrequestreview-{source.id}"


@resolvers.field("PullRequestReviewThread.comments")
def thread_comments(source: Thread, _scope: Scope, **arguments: Any) -> Any:
    """Return the comments of a thread, oldest first."""
    return connection(source.comments, "comments", arguments)


@resolvers.field("PullRequestReviewThread.isResolved", "PullRequestReviewThread.isCollapsed")
def is_resolved(source: Thread, _scope: Scope) -> bool:
    """Return whether a thread is resolved; a resolved one is folded."""
    return source.resolved_by is not None


@resolvers.field("PullRequestReviewThread.resolvedBy")
def resolved_by(source: Thread, scope: Scope) -> Any:
    """Return who resolved a thread, as a User even when it was a bot."""
    by = source.resolved_by
    if by is None:
        return None
    page = scope.view.user_html(by)
    return {"__typename": "User", "id": by.node_id, "login": by.login, "name": by.name, "url": page}


@resolvers.field("PullRequestReviewThread.isOutdated")
def is_outdated(source: Thread, _scope: Scope) -> bool:
    """Return whether the lines changed since."""
    return source.outdated


@resolvers.field("PullRequestReviewThread.diffSide")
def diff_side(source: Thread, _scope: Scope) -> str:
    """Return LEFT or RIGHT."""
    return source.side


@resolvers.field("PullRequestReviewThread.line")
def line(source: Thread, _scope: Scope) -> int | None:
    """Return the line; `None` once it is outdated."""
    return None if source.outdated else source.line


@resolvers.field("PullRequestReviewThread.originalLine")
def original_line(source: Thread, _scope: Scope) -> int | None:
    """Return the line that the thread was opened on."""
    return source.line


@resolvers.field("PullRequestReviewThread.subjectType")
def subject_type(source: Thread, _scope: Scope) -> str:
    """Return LINE or FILE."""
    return "FILE" if source.line is None else "LINE"


@resolvers.field("PullRequestReviewThread.pullRequest")
def thread_pull(source: Thread, _scope: Scope) -> Pull:
    """Return the pull request of a thread."""
    return source.pull


@resolvers.field("PullRequestReviewThread.repository")
def thread_repository(source: Thread, _scope: Scope) -> Any:
    """Return the repository of a thread."""
    return source.pull.repo


@resolvers.field("PullRequestReviewComment.path")
def comment_path(source: ReviewComment, _scope: Scope) -> str:
    """Return the file that a comment is about."""
    return source.thread.path


@resolvers.field("PullRequestReviewComment.line")
def comment_line(source: ReviewComment, _scope: Scope) -> int | None:
    """Return the line that a comment is about; `None` once it is outdated."""
    return line(source.thread, _scope)  # type: ignore[no-any-return]


@resolvers.field("PullRequestReviewComment.originalLine")
def comment_original_line(source: ReviewComment, _scope: Scope) -> int | None:
    """Return the line that a comment was written on."""
    return source.thread.line


@resolvers.field("PullRequestReviewComment.startLine")
def comment_start_line(source: ReviewComment, _scope: Scope) -> int | None:
    """Return the first line of a comment about several."""
    return source.thread.start_line


@resolvers.field("PullRequestReviewComment.outdated")
def comment_outdated(source: ReviewComment, _scope: Scope) -> bool:
    """Return whether the lines changed since."""
    return source.thread.outdated


@resolvers.field("PullRequestReviewComment.pullRequest")
def comment_pull(source: ReviewComment, _scope: Scope) -> Pull:
    """Return the pull request of a comment."""
    return source.thread.pull


@resolvers.field("PullRequestReviewComment.pullRequestReview")
def comment_review(source: ReviewComment, _scope: Scope) -> Review:
    """Return the review that a comment came with."""
    return source.review


@resolvers.field("PullRequestReviewComment.replyTo")
def reply_to(source: ReviewComment, _scope: Scope) -> ReviewComment | None:
    """Return the comment that this one answers."""
    return source.in_reply_to


@resolvers.field("PullRequestReviewComment.repository")
def comment_repository(source: ReviewComment, _scope: Scope) -> Any:
    """Return the repository of a comment."""
    return source.thread.pull.repo


@resolvers.field("PullRequestReviewComment.url")
def comment_url(source: ReviewComment, scope: Scope) -> str:
    """Return the place of a comment."""
    return f"{scope.view.issue_html(source.thread.pull.issue)}#discussion_r{source.id}"


def _writable_pull(scope: Scope, given: Input) -> Pull:
    pull = scope.node(given["pullRequestId"], Pull)
    needed = Role.READ if pull.issue.author is scope.actor else Role.WRITE
    scope.require(pull, "write", needed)
    return pull


@resolvers.mutation("markPullRequestReadyForReview")
def mark_ready(scope: Scope, given: Input) -> Input:
    """Take a pull request out of draft."""
    pull = _writable_pull(scope, given)
    scope.store.pulls.set_draft(pull, False, actor=scope.actor)
    return {"pullRequest": pull}


@resolvers.mutation("convertPullRequestToDraft")
def convert_to_draft(scope: Scope, given: Input) -> Input:
    """Put a pull request back into draft."""
    pull = _writable_pull(scope, given)
    scope.store.pulls.set_draft(pull, True, actor=scope.actor)
    return {"pullRequest": pull}


@resolvers.mutation("resolveReviewThread")
def resolve(scope: Scope, given: Input) -> Input:
    """Resolve a thread."""
    return _set_resolved(scope, given, True)


@resolvers.mutation("unresolveReviewThread")
def unresolve(scope: Scope, given: Input) -> Input:
    """Reopen a thread."""
    return _set_resolved(scope, given, False)


def _set_resolved(scope: Scope, given: Input, resolved: bool) -> Input:
    thread = scope.node(given["threadId"], Thread)
    scope.require(thread, "write", Role.WRITE)
    scope.store.reviews.set_resolved(thread, resolved, actor=scope.actor)
    return {"thread": thread}


@resolvers.mutation("addPullRequestReviewThreadReply")
def reply(scope: Scope, given: Input) -> Input:
    """Reply in a thread."""
    thread = scope.node(given["pullRequestReviewThreadId"], Thread)
    scope.require(thread, "write")
    return {"comment": scope.store.reviews.reply(thread, given["body"], actor=scope.actor)}
