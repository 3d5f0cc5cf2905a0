"""Issues, their labels and reactions."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypeVar

from flask import request
from flask.typing import ResponseReturnValue

from forge.errors import BadRequestError, NotFoundError, UnprocessableError
from forge.payloads import account, issue
from forge.payloads.view import Json
from forge.rest.context import (
    RepositoryRoutes,
    actor,
    answer_page,
    body,
    require_author,
    require_text,
    store,
    text_of,
    view,
)
from forge.store.base import existing
from forge.store.models import Comment, Issue, Label, Repo, ReviewComment, Role

blueprint = RepositoryRoutes("issues")
TALK = "issues|pull_requests"
MAX_ASSIGNEES = 10  # docs.github.com/rest/issues/assignees#add-assignees-to-an-issue
Dated = TypeVar("Dated", Issue, Comment)


def newer(things: Iterable[Dated]) -> list[Dated]:
    """Return the things that changed after the `since` of the query, if it has one.

    Raises BadRequestError when that is no date.
    """
    given = request.args.get("since")
    if given is None:
        return list(things)
    try:
        moment = datetime.fromisoformat(given.replace("Z", "+00:00").replace(" ", "+"))
    except ValueError as error:
        raise BadRequestError("since is not a valid date") from error
    return [thing for thing in things if thing.updated_at >= moment]


def _names(labels: list[Any] | None) -> list[str]:
    return [label["name"] if isinstance(label, dict) else str(label) for label in labels or []]


@blueprint.on("GET", "/issues", TALK)
def list_issues(repo: Repo) -> ResponseReturnValue:
    """Answer with issues and pull requests, newest first."""
    state, labels = request.args.get("state", "open"), request.args.get("labels", "")
    wanted = set(filter(None, labels.split(",")))
    issues = [
        entry
        for entry in newer(reversed(repo.issues.values()))
        if state in ("all", entry.state) and wanted <= {label.name for label in entry.labels}
    ]
    return answer_page(issues, issue.issue)


@blueprint.on("POST", "/issues", "issues")
def create_issue(repo: Repo) -> ResponseReturnValue:
    wanted = body()
    title, text = require_text(wanted, "title", "Issue"), text_of(wanted, "body", "Issue")
    new_issue = store().issues.create(repo, title, text, actor=actor(), labels=_names(wanted.get("labels")))
    if wanted.get("assignees"):
        store().issues.set_assignees(new_issue, wanted["assignees"], actor=actor())
    return issue.issue(view(), new_issue), 201


@blueprint.on("GET", "/issues/<int:number>", TALK)
def show_issue(repo: Repo, number: int) -> Json:
    return issue.issue(view(), store().issues.get(repo, number))


@blueprint.on("PATCH", "/issues/<int:number>", TALK)
def edit_issue(repo: Repo, number: int) -> Json:
    """Change an issue; its author may change its text without a role."""
    subject, wanted, issues = store().issues.get(repo, number), body(), store().issues
    require_author(subject.author, repo, TALK, Role.TRIAGE)
    title, text = text_of(wanted, "title", "Issue"), text_of(wanted, "body", "Issue")
    issues.edit(subject, title=title, body=text, actor=actor())
    if "labels" in wanted:
        issues.set_labels(subject, _names(wanted["labels"]), actor=actor())
    if "assignees" in wanted:
        issues.set_assignees(subject, wanted["assignees"] or [], actor=actor())
    if wanted.get("state"):
        issues.set_state(subject, wanted["state"], wanted.get("state_reason"), actor=actor())
    return issue.issue(view(), subject)


@blueprint.on("PUT", "/issues/<int:number>/lock", TALK, Role.TRIAGE)
def lock(repo: Repo, number: int) -> ResponseReturnValue:
    """Lock the conversation: Apps, and people who may not write, comment no more."""
    store().issues.get(repo, number).locked = True
    return "", 204


@blueprint.on("DELETE", "/issues/<int:number>/lock", TALK, Role.TRIAGE)
def unlock(repo: Repo, number: int) -> ResponseReturnValue:
    store().issues.get(repo, number).locked = False
    return "", 204


def _logins() -> set[str]:
    return {str(login).casefold() for login in body().get("assignees") or []}


@blueprint.on("POST", "/issues/<int:number>/assignees", TALK, Role.TRIAGE)
def add_assignees(repo: Repo, number: int) -> ResponseReturnValue:
    """Assign people who have a say in the repository; anybody else is passed by in silence."""
    subject, wanted = store().issues.get(repo, number), _logins()
    users = (user for user in store().users.all() if user.login.casefold() in wanted)
    come = [user for user in users if store().repos.role_of(repo, user).reaches(Role.TRIAGE)]
    there = dict.fromkeys(user.login for user in (*subject.assignees, *come))
    store().issues.set_assignees(subject, [*there][:MAX_ASSIGNEES], actor=actor())
    return issue.issue(view(), subject), 201


@blueprint.on("DELETE", "/issues/<int:number>/assignees", TALK, Role.TRIAGE)
def remove_assignees(repo: Repo, number: int) -> ResponseReturnValue:
    subject, gone = store().issues.get(repo, number), _logins()
    left = [user.login for user in subject.assignees if user.login.casefold() not in gone]
    store().issues.set_assignees(subject, left, actor=actor())
    return issue.issue(view(), subject)


def _labels(repo: Repo, labels: Iterable[Label]) -> list[Json]:
    return [account.label(view(), label, repo) for label in labels]


@blueprint.on("GET", "/issues/<int:number>/labels", TALK)
def list_issue_labels(repo: Repo, number: int) -> ResponseReturnValue:
    return _labels(repo, store().issues.get(repo, number).labels)


@blueprint.on("POST", "/issues/<int:number>/labels", TALK, Role.TRIAGE)
def add_labels(repo: Repo, number: int) -> ResponseReturnValue:
    """Add labels to an issue; the body is an object or a plain list."""
    subject = store().issues.get(repo, number)
    given = request.get_json(silent=True)
    names = given.get("labels") if isinstance(given, dict) else given
    if not isinstance(names, list):
        raise UnprocessableError("Invalid request.\n\nlabels is missing")
    store().issues.add_labels(subject, [str(label) for label in names], actor=actor())
    return _labels(repo, subject.labels)


@blueprint.on("DELETE", "/issues/<int:number>/labels/<label>", TALK, Role.TRIAGE)
def remove_label(repo: Repo, number: int, label: str) -> ResponseReturnValue:
    subject = store().issues.get(repo, number)
    store().issues.remove_label(subject, label, actor=actor())
    return _labels(repo, subject.labels)


@blueprint.on("GET", "/labels", TALK)
def list_labels(repo: Repo) -> ResponseReturnValue:
    return answer_page(list(repo.labels.values()), lambda here, label: account.label(here, label, repo))


@blueprint.on("POST", "/labels", TALK, Role.WRITE)
def create_label(repo: Repo) -> ResponseReturnValue:
    wanted = body()
    name = require_text(wanted, "name", "Label")
    if name.casefold() in repo.labels:
        raise UnprocessableError.on_field("Label", "name", "already_exists")
    color, description = wanted.get("color", "ededed"), wanted.get("description")
    label = store().repos.label(repo, name, color=color, description=description)
    return account.label(view(), label, repo), 201


@blueprint.on("GET", "/labels/<label>", TALK)
def show_label(repo: Repo, label: str) -> Json:
    return account.label(view(), existing(repo.labels.get(label.casefold())), repo)


@blueprint.on("DELETE", "/labels/<label>", TALK, Role.WRITE)
def delete_label(repo: Repo, label: str) -> ResponseReturnValue:
    """Delete a label, from the issues that have it, too."""
    gone = existing(repo.labels.pop(label.casefold(), None))
    for entry in repo.issues.values():
        entry.labels = [each for each in entry.labels if each is not gone]
    return "", 204


REACTIONS = "/<path:kind>/<int:number>/reactions"


def _subject(repo: Repo, kind: str, number: int) -> Issue | Comment | ReviewComment:
    match kind:
        case "issues":
            return store().issues.get(repo, number)
        case "issues/comments":
            return store().issues.get_comment(repo, number)
        case "pulls/comments":
            return store().reviews.get_comment(repo, number)
    raise NotFoundError()


@blueprint.on("GET", REACTIONS, TALK)
def list_reactions(repo: Repo, kind: str, number: int) -> ResponseReturnValue:
    content = request.args.get("content")
    reactions = [
        reaction for reaction in _subject(repo, kind, number).reactions if content in (None, reaction.content)
    ]
    return answer_page(reactions, account.reaction)


@blueprint.on("POST", REACTIONS, TALK)
def create_reaction(repo: Repo, kind: str, number: int) -> ResponseReturnValue:
    """React; the same reaction again is 200 and changes nothing."""
    content = require_text(body(), "content", "Reaction")
    reaction, is_new = store().issues.react(_subject(repo, kind, number), content, actor=actor())
    return account.reaction(view(), reaction), 201 if is_new else 200
