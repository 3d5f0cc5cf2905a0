"""Issues, the conversation under them, which pull requests share, and the texts that people edit or tick."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from flask import render_template, request
from flask.typing import ResponseReturnValue

from forge.errors import ConflictError, ForbiddenError, NotFoundError, UnprocessableError
from forge.pages.changes import commits_of
from forge.pages.looks import address
from forge.pages.markdown import ChangedMeanwhileError, with_tick
from forge.pages.site import answer_change, came_from, local_path, pages, person, reaches, require
from forge.rest.context import store
from forge.store import Store
from forge.store.models import Comment, Issue, Pull, Repo, ReviewComment, Role


class Kind(StrEnum):
    """The kinds of entries in a conversation; each has its own template."""

    COMMENT = "comment"
    COMMITS = "commits"
    REVIEW = "review"
    THREAD = "thread"
    MERGED = "merged"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry; `key` never changes, so that a page can follow it."""

    kind: Kind
    key: str
    at: datetime
    subject: Any


def conversation(store: Store, issue: Issue) -> list[Entry]:
    """Return everything that happened after the opening, oldest first."""
    entries = [
        Entry(Kind.COMMENT, f"comment-{comment.id}", comment.created_at, comment)
        for comment in issue.comments
    ]
    if issue.pull is not None:
        entries += _of_pull(store, issue.pull)
    if issue.closed_at is not None:
        merged = issue.pull is not None and issue.pull.merged_at is not None
        kind = Kind.MERGED if merged else Kind.CLOSED
        entries.append(Entry(kind, f"{kind}-{issue.closed_at.timestamp()}", issue.closed_at, issue))
    return sorted(entries, key=lambda entry: entry.at)


def _of_pull(store: Store, pull: Pull) -> Iterator[Entry]:
    for commit in commits_of(store, pull):
        # git knows whole seconds of the writer's clock: a commit is never shown before the opening.
        at = max(commit.committer.date, pull.issue.created_at)
        yield Entry(Kind.COMMITS, f"commit-{commit.sha}", at, commit)
    for review in pull.reviews:
        threads = [
            thread for thread in pull.threads if thread.comments and thread.comments[0].review is review
        ]
        if review.body or threads or review.state != "COMMENTED":
            yield Entry(Kind.REVIEW, f"review-{review.id}", review.submitted_at, review)
        for thread in threads:
            yield Entry(Kind.THREAD, f"thread-{thread.id}", review.submitted_at, thread)


REASONS = ("completed", "not_planned")


def read_body() -> str:
    """Return the text of the form with the line ends that GitHub stores."""
    return request.form.get("body", "").replace("\r\n", "\n")


def may_close(issue: Issue) -> bool:
    """Return whether the visitor may close and reopen: its author, and people who triage."""
    return issue.author is person() or reaches(issue.repo, Role.TRIAGE)


@pages.below_repo("/issues/<int:number>")
def issue(repo: Repo, number: int) -> ResponseReturnValue:
    subject = store().issues.get(repo, number)
    if subject.pull is not None:
        return answer_change(address(subject))
    return render_template(
        "issue.html",
        issue=subject,
        repo=repo,
        entries=conversation(store(), subject),
        cards=store().projects.items_of(subject),
        may_close=may_close(subject),
        may_write=reaches(repo, Role.WRITE),
    )


@pages.below_repo("/issues")
def issues(repo: Repo) -> ResponseReturnValue:
    listed = [issue for issue in reversed(repo.issues.values()) if issue.pull is None]
    return render_template("list.html", repo=repo, listed=listed, tab="issues")


@pages.below_repo("/issues/<int:number>/comments", post=True)
def comment(repo: Repo, number: int) -> ResponseReturnValue:
    subject = store().issues.get(repo, number)
    store().issues.comment(subject, read_body(), actor=person())
    return answer_change(f"{address(subject)}#latest")


@pages.below_repo("/issues/<int:number>/state", post=True)
def set_issue_state(repo: Repo, number: int) -> ResponseReturnValue:
    subject = store().issues.get(repo, number)
    if not may_close(subject):
        require(repo, Role.TRIAGE, "close or reopen this")
    state, reason = request.form.get("state", ""), request.form.get("reason") or None
    if reason not in (None, *REASONS):
        raise UnprocessableError("There is no such reason to close an issue.")
    store().issues.set_state(subject, state, reason, actor=person())
    return answer_change(address(subject))


def holder_at(repo: Repo, kind: str, number: int) -> Issue | Comment | ReviewComment:
    """Return the holder of a text; `number` is an issue's number or a comment's id. Raises NotFoundError."""
    match kind:
        case "description":
            return store().issues.get(repo, number)
        case "comment":
            return store().issues.get_comment(repo, number)
        case "line_comment":
            return store().reviews.get_comment(repo, number)
    raise NotFoundError


def write(holder: Issue | Comment | ReviewComment, body: str) -> None:
    """Replace a text as the visitor; raises UnprocessableError when it is blank or too long."""
    match holder:
        case Issue():
            store().issues.edit(holder, actor=person(), body=body)
        case Comment():
            store().issues.edit_comment(holder, body, actor=person())
        case ReviewComment():
            store().reviews.edit_comment(holder, body, actor=person())


@pages.below_repo("/texts/<kind>/<int:number>", post=True)
def edit_text(repo: Repo, kind: str, number: int) -> ResponseReturnValue:
    holder = holder_at(repo, kind, number)
    if holder.author is not person():
        raise ForbiddenError("Only its author can edit a comment.")
    write(holder, read_body())
    return answer_change(local_path(request.form.get("next", f"/{repo.full_name}")))


@pages.below_repo("/texts/<kind>/<int:number>/ticks", post=True)
def tick(repo: Repo, kind: str, number: int) -> ResponseReturnValue:
    """Tick or untick a task in a text; its author and people with write access may."""
    holder, form = holder_at(repo, kind, number), request.form
    if holder.author is not person():
        require(repo, Role.WRITE, "tick a box")
    try:
        line, label = int(form.get("line", "")), form.get("label", "")
        body = with_tick(holder.body or "", line, label, form.get("checked") == "1")
    except ValueError as error:
        raise UnprocessableError("The line of a task is a number.") from error
    except ChangedMeanwhileError as error:
        raise ConflictError("That task was changed meanwhile. Look again.") from error
    write(holder, body)
    return answer_change(came_from(f"/{repo.full_name}"))
