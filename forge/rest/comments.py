"""Comments of issues and pull requests, and the links between issues."""

from flask import Blueprint, Response

from forge.errors import NotFoundError
from forge.payloads import issue
from forge.rest.context import actor, answer, body, needed_text, no_content, page_of, repo_for, store, view
from forge.rest.issues import TALK, since
from forge.store.models import Comment, Issue, Repo, Role

blueprint = Blueprint("comments", __name__, url_prefix="/repos/<owner>/<name>")


@blueprint.get("/issues/<int:number>/comments")
def list_comments(owner: str, name: str, number: int) -> Response:
    """Answer with the comments of an issue, oldest first."""
    repo = repo_for(owner, name, TALK)
    moment = since()
    comments = store().issues.get(repo, number).comments
    found, links = page_of([one for one in comments if moment is None or one.updated_at >= moment])
    return answer([issue.comment(view(), one) for one in found], headers=links)


@blueprint.get("/issues/comments")
def list_all_comments(owner: str, name: str) -> Response:
    """Answer with the comments of a repository, oldest first."""
    repo = repo_for(owner, name, TALK)
    moment = since()
    comments = store().issues.comments_of(repo)
    found, links = page_of([one for one in comments if moment is None or one.updated_at >= moment])
    return answer([issue.comment(view(), one) for one in found], headers=links)


@blueprint.post("/issues/<int:number>/comments")
def create_comment(owner: str, name: str, number: int) -> Response:
    """Comment; anybody who may read a repository may."""
    repo = repo_for(owner, name, TALK, "write")
    text = needed_text(body(), "body", "IssueComment")
    made = store().issues.comment(store().issues.get(repo, number), text, actor=actor())
    return answer(issue.comment(view(), made), 201)


@blueprint.get("/issues/comments/<int:number>")
def show_comment(owner: str, name: str, number: int) -> Response:
    """Answer with one comment."""
    repo = repo_for(owner, name, TALK)
    return answer(issue.comment(view(), store().issues.get_comment(repo, number)))


def _editable(owner: str, name: str, number: int) -> Comment:
    repo = repo_for(owner, name, TALK, "write")
    comment = store().issues.get_comment(repo, number)
    if comment.author is not actor():
        repo_for(owner, name, TALK, "write", Role.WRITE)
    return comment


@blueprint.patch("/issues/comments/<int:number>")
def edit_comment(owner: str, name: str, number: int) -> Response:
    """Replace the text of a comment."""
    comment = _editable(owner, name, number)
    text = needed_text(body(), "body", "IssueComment")
    store().issues.edit_comment(comment, text, actor=actor())
    return answer(issue.comment(view(), comment))


@blueprint.delete("/issues/comments/<int:number>")
def delete_comment(owner: str, name: str, number: int) -> Response:
    """Delete a comment."""
    store().issues.delete_comment(_editable(owner, name, number), actor=actor())
    return no_content()


def _issue_with_id(repo: Repo, wanted: object) -> Issue:
    """Return the issue with this id (these endpoints take ids, not numbers); raises NotFoundError."""
    owner = repo.owner
    for other in store().repos.all():
        for one in other.issues.values():
            if other.owner is owner and one.id == wanted:
                return one
    raise NotFoundError()


@blueprint.get("/issues/<int:number>/sub_issues")
def list_sub_issues(owner: str, name: str, number: int) -> Response:
    """Answer with the sub-issues of an issue."""
    repo = repo_for(owner, name, "issues")
    found, links = page_of(store().issues.get(repo, number).sub_issues)
    return answer([issue.issue(view(), one) for one in found], headers=links)


@blueprint.post("/issues/<int:number>/sub_issues")
def add_sub_issue(owner: str, name: str, number: int) -> Response:
    """Make an issue a part of another one."""
    repo = repo_for(owner, name, "issues", "write", Role.TRIAGE)
    parent, wanted = store().issues.get(repo, number), body()
    child = _issue_with_id(repo, wanted.get("sub_issue_id"))
    store().links.add_sub_issue(parent, child, actor=actor(), replace=bool(wanted.get("replace_parent")))
    return answer(issue.issue(view(), parent), 201)


@blueprint.get("/issues/<int:number>/dependencies/blocked_by")
def list_blocked_by(owner: str, name: str, number: int) -> Response:
    """Answer with what an issue waits for."""
    repo = repo_for(owner, name, "issues")
    found, links = page_of(store().issues.get(repo, number).blocked_by)
    return answer([issue.issue(view(), one) for one in found], headers=links)


@blueprint.post("/issues/<int:number>/dependencies/blocked_by")
def add_blocked_by(owner: str, name: str, number: int) -> Response:
    """Let an issue wait for another one."""
    repo = repo_for(owner, name, "issues", "write", Role.TRIAGE)
    one = store().issues.get(repo, number)
    store().links.add_blocked_by(one, _issue_with_id(repo, body().get("issue_id")), actor=actor())
    return answer(issue.issue(view(), one), 201)
