"""Comments of issues, pull requests and reviews, and the links between issues."""

from collections.abc import Callable
from typing import Any

from flask import request
from flask.typing import ResponseReturnValue

from forge.errors import ForbiddenError
from forge.payloads import issue, pull
from forge.payloads.view import Json, View
from forge.rest.context import (
    RepositoryRoutes,
    actor,
    answer_page,
    body,
    require_author,
    require_text,
    store,
    view,
)
from forge.rest.issues import TALK, newer
from forge.store.base import first
from forge.store.models import Issue, Repo, Role

blueprint = RepositoryRoutes("comments")


@blueprint.on("GET", "/issues/<int:number>/comments", TALK)
def list_comments(repo: Repo, number: int) -> ResponseReturnValue:
    """Answer with the comments of an issue, oldest first."""
    return answer_page(newer(store().issues.get(repo, number).comments), issue.comment)


@blueprint.on("GET", "/issues/comments", TALK)
def list_all_comments(repo: Repo) -> ResponseReturnValue:
    """Answer with the comments of a repository, oldest first unless a sorted listing goes down."""
    comments = newer(store().issues.comments_of(repo))
    if request.args.get("sort") and request.args.get("direction") == "desc":  # ignored without a sort
        comments.reverse()
    return answer_page(comments, issue.comment)


@blueprint.on("POST", "/issues/<int:number>/comments", TALK)
def create_comment(repo: Repo, number: int) -> ResponseReturnValue:
    """Comment on an issue; reading rights are enough."""
    text = require_text(body(), "body", "IssueComment")
    issue_there = store().issues.get(repo, number)
    if issue_there.locked and not store().repos.role_of(repo, actor()).reaches(Role.WRITE):
        raise ForbiddenError("Unable to create comment because issue is locked.")
    comment = store().issues.comment(issue_there, text, actor=actor())
    return issue.comment(view(), comment), 201


def mount(rule: str, permissions: str, resource: str, part: str, show: Callable[[View, Any], Json]) -> None:
    """Mount reading, changing and deleting of one kind of comments; `part` is the store's part for them."""

    @blueprint.on("GET", rule, permissions)
    def show_comment(repo: Repo, number: int) -> Json:
        return show(view(), getattr(store(), part).get_comment(repo, number))

    @blueprint.on("PATCH", rule, permissions)
    def edit_comment(repo: Repo, number: int) -> Json:
        comment = getattr(store(), part).get_comment(repo, number)
        require_author(comment.author, repo, permissions, Role.WRITE)
        text = require_text(body(), "body", resource)
        getattr(store(), part).edit_comment(comment, text, actor=actor())
        return show(view(), comment)

    @blueprint.on("DELETE", rule, permissions)
    def delete_comment(repo: Repo, number: int) -> ResponseReturnValue:
        comment = getattr(store(), part).get_comment(repo, number)
        require_author(comment.author, repo, permissions, Role.WRITE)
        getattr(store(), part).delete_comment(comment, actor=actor())
        return "", 204


mount("/issues/comments/<int:number>", TALK, "IssueComment", "issues", issue.comment)
mount(
    "/pulls/comments/<int:number>",
    "pull_requests",
    "PullRequestReviewComment",
    "reviews",
    pull.review_comment,
)


def _issue_with_id(repo: Repo, wanted: object) -> Issue:
    """Return the issue with this id (these endpoints take ids, not numbers); raises NotFoundError."""
    reachable = (other for other in store().repos.all() if other.owner is repo.owner)
    return first(entry for other in reachable for entry in other.issues.values() if entry.id == wanted)


@blueprint.on("GET", "/issues/<int:number>/sub_issues", "issues")
def list_sub_issues(repo: Repo, number: int) -> ResponseReturnValue:
    return answer_page(store().issues.get(repo, number).sub_issues, issue.issue)


@blueprint.on("POST", "/issues/<int:number>/sub_issues", "issues", Role.TRIAGE)
def add_sub_issue(repo: Repo, number: int) -> ResponseReturnValue:
    parent, wanted = store().issues.get(repo, number), body()
    child = _issue_with_id(repo, wanted.get("sub_issue_id"))
    store().links.add_sub_issue(parent, child, actor=actor(), replace=bool(wanted.get("replace_parent")))
    return issue.issue(view(), parent), 201


@blueprint.on("GET", "/issues/<int:number>/dependencies/blocked_by", "issues")
def list_blocked_by(repo: Repo, number: int) -> ResponseReturnValue:
    return answer_page(store().issues.get(repo, number).blocked_by, issue.issue)


@blueprint.on("POST", "/issues/<int:number>/dependencies/blocked_by", "issues", Role.TRIAGE)
def add_blocked_by(repo: Repo, number: int) -> ResponseReturnValue:
    blocked = store().issues.get(repo, number)
    store().links.add_blocked_by(blocked, _issue_with_id(repo, body().get("issue_id")), actor=actor())
    return issue.issue(view(), blocked), 201
