"""Comments of issues and pull requests, and the links between issues."""

from flask.typing import ResponseReturnValue

from forge.payloads import issue
from forge.payloads.view import Json
from forge.rest.context import (
    RepositoryBlueprint,
    actor,
    body,
    needed_text,
    paged,
    require_author,
    store,
    view,
)
from forge.rest.issues import TALK, newer
from forge.store.base import first
from forge.store.models import Comment, Issue, Repo, Role

blueprint = RepositoryBlueprint("comments")


@blueprint.on("GET", "/issues/<int:number>/comments", TALK)
def list_comments(repo: Repo, number: int) -> ResponseReturnValue:
    """Answer with the comments of an issue, oldest first."""
    return paged(newer(store().issues.get(repo, number).comments), issue.comment)


@blueprint.on("GET", "/issues/comments", TALK)
def list_all_comments(repo: Repo) -> ResponseReturnValue:
    """Answer with the comments of a repository, oldest first."""
    return paged(newer(store().issues.comments_of(repo)), issue.comment)


@blueprint.on("POST", "/issues/<int:number>/comments", TALK)
def create_comment(repo: Repo, number: int) -> ResponseReturnValue:
    """Comment on an issue; reading rights are enough."""
    text = needed_text(body(), "body", "IssueComment")
    made = store().issues.comment(store().issues.get(repo, number), text, actor=actor())
    return issue.comment(view(), made), 201


@blueprint.on("GET", "/issues/comments/<int:number>", TALK)
def show_comment(repo: Repo, number: int) -> Json:
    return issue.comment(view(), store().issues.get_comment(repo, number))


def _editable(repo: Repo, number: int) -> Comment:
    comment = store().issues.get_comment(repo, number)
    require_author(comment.author, repo, TALK, Role.WRITE)
    return comment


@blueprint.on("PATCH", "/issues/comments/<int:number>", TALK)
def edit_comment(repo: Repo, number: int) -> Json:
    comment = _editable(repo, number)
    store().issues.edit_comment(comment, needed_text(body(), "body", "IssueComment"), actor=actor())
    return issue.comment(view(), comment)


@blueprint.on("DELETE", "/issues/comments/<int:number>", TALK)
def delete_comment(repo: Repo, number: int) -> ResponseReturnValue:
    store().issues.delete_comment(_editable(repo, number), actor=actor())
    return "", 204


def _issue_with_id(repo: Repo, wanted: object) -> Issue:
    """Return the issue with this id (these endpoints take ids, not numbers); raises NotFoundError."""
    reachable = (other for other in store().repos.all() if other.owner is repo.owner)
    return first(one for other in reachable for one in other.issues.values() if one.id == wanted)


@blueprint.on("GET", "/issues/<int:number>/sub_issues", "issues")
def list_sub_issues(repo: Repo, number: int) -> ResponseReturnValue:
    return paged(store().issues.get(repo, number).sub_issues, issue.issue)


@blueprint.on("POST", "/issues/<int:number>/sub_issues", "issues", Role.TRIAGE)
def add_sub_issue(repo: Repo, number: int) -> ResponseReturnValue:
    parent, wanted = store().issues.get(repo, number), body()
    child = _issue_with_id(repo, wanted.get("sub_issue_id"))
    store().links.add_sub_issue(parent, child, actor=actor(), replace=bool(wanted.get("replace_parent")))
    return issue.issue(view(), parent), 201


@blueprint.on("GET", "/issues/<int:number>/dependencies/blocked_by", "issues")
def list_blocked_by(repo: Repo, number: int) -> ResponseReturnValue:
    return paged(store().issues.get(repo, number).blocked_by, issue.issue)


@blueprint.on("POST", "/issues/<int:number>/dependencies/blocked_by", "issues", Role.TRIAGE)
def add_blocked_by(repo: Repo, number: int) -> ResponseReturnValue:
    blocked = store().issues.get(repo, number)
    store().links.add_blocked_by(blocked, _issue_with_id(repo, body().get("issue_id")), actor=actor())
    return issue.issue(view(), blocked), 201
