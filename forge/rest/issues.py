"""Issues, their labels and reactions."""

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from flask import Blueprint, Response, request

from forge.errors import BadRequestError, NotFoundError, UnprocessableError
from forge.payloads import account, issue
from forge.rest.context import (
    actor,
    answer,
    body,
    needed_text,
    no_content,
    page_of,
    repo_for,
    store,
    text_of,
    view,
)
from forge.store.models import Comment, Issue, Repo, ReviewComment, Role

blueprint = Blueprint("issues", __name__, url_prefix="/repos/<owner>/<name>")
TALK = "issues|pull_requests"
Reacting = TypeVar("Reacting", bound=Callable[..., Response])


def since() -> datetime | None:
    """Return the `since` of the query; raises BadRequestError when it is no date."""
    given = request.args.get("since")
    if given is None:
        return None
    try:
        return datetime.fromisoformat(given.replace("Z", "+00:00").replace(" ", "+"))
    except ValueError as error:
        raise BadRequestError("since is not a valid date") from error


@blueprint.get("/issues")
def list_issues(owner: str, name: str) -> Response:
    """Answer with issues and pull requests, newest first."""
    repo = repo_for(owner, name, TALK)
    state, wanted = (
        request.args.get("state", "open"),
        set(filter(None, request.args.get("labels", "").split(","))),
    )
    moment = since()
    issues = [
        one
        for one in reversed(repo.issues.values())
        if state in ("all", one.state)
        and wanted <= {label.name for label in one.labels}
        and (moment is None or one.updated_at >= moment)
    ]
    found, links = page_of(issues)
    return answer([issue.issue(view(), one) for one in found], headers=links)


@blueprint.post("/issues")
def create_issue(owner: str, name: str) -> Response:
    """Open an issue."""
    repo = repo_for(owner, name, "issues", "write")
    wanted = body()
    title = needed_text(wanted, "title", "Issue")
    labels = [one["name"] if isinstance(one, dict) else str(one) for one in wanted.get("labels") or []]
    made = store().issues.create(repo, title, text_of(wanted, "body", "Issue"), actor=actor(), labels=labels)
    if wanted.get("assignees"):
        store().issues.set_assignees(made, wanted["assignees"], actor=actor())
    return answer(issue.issue(view(), made), 201)


@blueprint.get("/issues/<int:number>")
def show_issue(owner: str, name: str, number: int) -> Response:
    """Answer with an issue."""
    repo = repo_for(owner, name, TALK)
    return answer(issue.issue(view(), store().issues.get(repo, number)))


@blueprint.patch("/issues/<int:number>")
def edit_issue(owner: str, name: str, number: int) -> Response:
    """Change an issue; its author may change its text without a role."""
    repo = repo_for(owner, name, TALK, "write")
    one = store().issues.get(repo, number)
    if one.author is not actor():
        repo_for(owner, name, TALK, "write", Role.TRIAGE)
    wanted, issues = body(), store().issues
    title, text = text_of(wanted, "title", "Issue"), text_of(wanted, "body", "Issue")
    issues.edit(one, title=title, body=text, actor=actor())
    if "labels" in wanted:
        names = [label["name"] if isinstance(label, dict) else str(label) for label in wanted["labels"]]
        issues.set_labels(one, names, actor=actor())
    if "assignees" in wanted:
        issues.set_assignees(one, wanted["assignees"] or [], actor=actor())
    if wanted.get("state"):
        issues.set_state(one, wanted["state"], wanted.get("state_reason"), actor=actor())
    return answer(issue.issue(view(), one))


@blueprint.get("/issues/<int:number>/labels")
def list_issue_labels(owner: str, name: str, number: int) -> Response:
    """Answer with the labels of an issue."""
    repo = repo_for(owner, name, TALK)
    return answer([account.label(view(), one, repo) for one in store().issues.get(repo, number).labels])


@blueprint.post("/issues/<int:number>/labels")
def add_labels(owner: str, name: str, number: int) -> Response:
    """Add labels to an issue; the body is an object or a plain list."""
    repo = repo_for(owner, name, TALK, "write", Role.TRIAGE)
    one = store().issues.get(repo, number)
    given = request.get_json(silent=True)
    names = given.get("labels") if isinstance(given, dict) else given
    if not isinstance(names, list):
        raise UnprocessableError("Invalid request.\n\nlabels is missing")
    store().issues.add_labels(one, [str(label) for label in names], actor=actor())
    return answer([account.label(view(), label, repo) for label in one.labels])


@blueprint.delete("/issues/<int:number>/labels/<label>")
def remove_label(owner: str, name: str, number: int, label: str) -> Response:
    """Take a label off an issue."""
    repo = repo_for(owner, name, TALK, "write", Role.TRIAGE)
    one = store().issues.get(repo, number)
    store().issues.remove_label(one, label, actor=actor())
    return answer([account.label(view(), left, repo) for left in one.labels])


@blueprint.get("/labels")
def list_labels(owner: str, name: str) -> Response:
    """Answer with the labels of a repository."""
    repo = repo_for(owner, name, TALK)
    found, links = page_of(list(repo.labels.values()))
    return answer([account.label(view(), one, repo) for one in found], headers=links)


@blueprint.post("/labels")
def create_label(owner: str, name: str) -> Response:
    """Make a label."""
    repo = repo_for(owner, name, TALK, "write", Role.WRITE)
    wanted = body()
    label = needed_text(wanted, "name", "Label")
    if label.casefold() in repo.labels:
        raise UnprocessableError.on_field("Label", "name", "already_exists")
    color = wanted.get("color", "ededed")
    made = store().repos.label(repo, label, color=color, description=wanted.get("description"))
    return answer(account.label(view(), made, repo), 201)


@blueprint.get("/labels/<label>")
def show_label(owner: str, name: str, label: str) -> Response:
    """Answer with one label."""
    repo = repo_for(owner, name, TALK)
    if label.casefold() not in repo.labels:
        raise NotFoundError()
    return answer(account.label(view(), repo.labels[label.casefold()], repo))


def _subject(repo: Repo, kind: str, number: int) -> Issue | Comment | ReviewComment:
    if kind == "issues":
        return store().issues.get(repo, number)
    if kind == "issues/comments":
        return store().issues.get_comment(repo, number)
    return store().reviews.get_comment(repo, number)


def on_subjects(rest: str, method: str) -> Callable[[Reacting], Reacting]:
    """Mount a view below everything that can be reacted to."""

    def mount(function: Reacting) -> Reacting:
        for kind in ("issues", "issues/comments", "pulls/comments"):
            rule = f"/{kind}/<int:number>/reactions{rest}"
            blueprint.add_url_rule(rule, view_func=function, methods=[method], defaults={"kind": kind})
        return function

    return mount


@on_subjects("", "GET")
def list_reactions(owner: str, name: str, kind: str, number: int) -> Response:
    """Answer with the reactions to an issue or a comment."""
    repo = repo_for(owner, name, TALK)
    content = request.args.get("content")
    reactions = [one for one in _subject(repo, kind, number).reactions if content in (None, one.content)]
    found, links = page_of(reactions)
    return answer([account.reaction(view(), one) for one in found], headers=links)


@on_subjects("", "POST")
def create_reaction(owner: str, name: str, kind: str, number: int) -> Response:
    """React; the same reaction twice is 200 and changes nothing."""
    repo = repo_for(owner, name, TALK, "write")
    content = needed_text(body(), "content", "Reaction")
    made, is_new = store().issues.react(_subject(repo, kind, number), content, actor=actor())
    return answer(account.reaction(view(), made), 201 if is_new else 200)


@on_subjects("/<int:reaction>", "DELETE")
def delete_reaction(owner: str, name: str, kind: str, number: int, reaction: int) -> Response:
    """Take a reaction back."""
    repo = repo_for(owner, name, TALK, "write")
    store().issues.unreact(_subject(repo, kind, number), reaction)
    return no_content()
