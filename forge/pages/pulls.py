"""Pull requests: conversation, merge box, reviews of lines and threads."""

import json

from flask import redirect, render_template, request
from flask.typing import ResponseReturnValue

from forge.errors import UnprocessableError
from forge.pages.changes import commits_of, files_of
from forge.pages.conversation import conversation, may_close, read_body
from forge.pages.looks import address
from forge.pages.site import answer_change, came_from, pages, person, reaches, require
from forge.rest.context import store
from forge.store.base import first
from forge.store.models import Pull, Repo, Role, Thread
from forge.store.pulls import MergeMethod
from forge.store.reviews import LineComment

MAX_LINE_COMMENTS = 200


def render_tab(pull: Pull, tab: str, template: str) -> ResponseReturnValue:
    state = store()
    return render_template(
        template,
        tab=tab,
        pull=pull,
        issue=pull.issue,
        repo=pull.repo,
        entries=conversation(state, pull.issue) if tab == "conversation" else [],
        commits=commits_of(state, pull),
        files=files_of(state, pull),
        cards=state.projects.items_of(pull),
        checks=state.checks.on_commit(pull.repo, pull.head_sha),
        verdicts=state.reviews.verdicts(pull),
        merge_state=state.pulls.mergeable_state(pull),
        rule=state.pulls.rule_against(pull),
        branch_exists=pull.head_ref in state.repos.git(pull.repo).branches(),
        may_close=may_close(pull.issue),
        may_write=reaches(pull.repo, Role.WRITE),
        is_author=pull.issue.author is person(),
    )


@pages.below_repo("/pull/<int:number>")
def pull(repo: Repo, number: int) -> ResponseReturnValue:
    issue = store().issues.get(repo, number)
    if issue.pull is None:
        return redirect(address(issue))
    return render_tab(issue.pull, "conversation", "pull.html")


@pages.below_repo("/pull/<int:number>/commits")
def pull_commits(repo: Repo, number: int) -> ResponseReturnValue:
    return render_tab(store().pulls.get(repo, number), "commits", "pull_commits.html")


@pages.below_repo("/pull/<int:number>/files")
def pull_files(repo: Repo, number: int) -> ResponseReturnValue:
    return render_tab(store().pulls.get(repo, number), "files", "pull_files.html")


@pages.below_repo("/pulls")
def pull_list(repo: Repo) -> ResponseReturnValue:
    listed = [pull.issue for pull in store().pulls.all(repo)]
    return render_template("list.html", repo=repo, listed=listed, tab="pulls")


@pages.below_repo("/pull/<int:number>/merge", post=True)
def merge(repo: Repo, number: int) -> ResponseReturnValue:
    subject = store().pulls.get(repo, number)
    require(repo, Role.WRITE, "merge")
    method, head = request.form.get("method", "squash"), request.form.get("head") or None
    if method not in set(MergeMethod):
        raise UnprocessableError("There is no such way to merge.")
    store().pulls.merge(subject, actor=person(), method=MergeMethod(method), sha=head)
    return answer_change(address(subject))


@pages.below_repo("/pull/<int:number>/draft", post=True)
def set_draft(repo: Repo, number: int) -> ResponseReturnValue:
    subject = store().pulls.get(repo, number)
    if subject.issue.author is not person():
        require(repo, Role.WRITE, "change whether this is a draft")
    store().pulls.set_draft(subject, request.form.get("draft") == "1", actor=person())
    return answer_change(address(subject))


@pages.below_repo("/pull/<int:number>/branch", post=True)
def delete_branch(repo: Repo, number: int) -> ResponseReturnValue:
    subject = store().pulls.get(repo, number)
    require(repo, Role.WRITE, "delete the branch")
    store().repos.delete_ref(repo, f"refs/heads/{subject.head_ref}", actor=person())
    return answer_change(address(subject))


@pages.below_repo("/checks/<int:check_id>/actions", post=True)
def press(repo: Repo, check_id: int) -> ResponseReturnValue:
    require(repo, Role.WRITE, "press a check's button")
    run = store().checks.get(repo, check_id)
    store().checks.request(run, request.form.get("identifier", ""), actor=person())
    return answer_change(came_from(f"/{repo.full_name}"))


def read_line_comments(text: str) -> list[LineComment]:
    """Return the comments on lines that a review form carries as JSON; raises UnprocessableError."""
    try:
        comments = [
            LineComment(
                str(comment["path"]), str(comment["body"]), int(comment["line"]), str(comment["side"])
            )
            for comment in json.loads(text or "[]")
        ]
    except (ValueError, TypeError, KeyError) as error:
        raise UnprocessableError("The comments on lines cannot be read.") from error
    if len(comments) > MAX_LINE_COMMENTS:
        raise UnprocessableError(f"A review has at most {MAX_LINE_COMMENTS} comments on lines.")
    return comments


def thread_of(pull: Pull, thread_id: int) -> Thread:
    """Return the thread; raises NotFoundError."""
    return first((thread for thread in pull.threads if thread.id == thread_id), "That thread is gone.")


@pages.below_repo("/pull/<int:number>/reviews", post=True)
def review(repo: Repo, number: int) -> ResponseReturnValue:
    subject = store().pulls.get(repo, number)
    comments = read_line_comments(request.form.get("comments", ""))
    verdict = request.form.get("event", "")
    new_review = store().reviews.submit(subject, verdict, read_body().strip(), comments, actor=person())
    return answer_change(f"{address(subject)}#review-{new_review.id}")


@pages.below_repo("/pull/<int:number>/threads/<int:thread_id>/replies", post=True)
def reply(repo: Repo, number: int, thread_id: int) -> ResponseReturnValue:
    subject = store().pulls.get(repo, number)
    store().reviews.reply(thread_of(subject, thread_id), read_body(), actor=person())
    return answer_change(f"{address(subject)}#thread-{thread_id}")


@pages.below_repo("/pull/<int:number>/threads/<int:thread_id>/resolved", post=True)
def resolve(repo: Repo, number: int, thread_id: int) -> ResponseReturnValue:
    subject = store().pulls.get(repo, number)
    if subject.issue.author is not person():
        require(repo, Role.WRITE, "resolve a thread")
    wanted = request.form.get("resolved") == "1"
    store().reviews.set_resolved(thread_of(subject, thread_id), wanted, actor=person())
    return answer_change(f"{address(subject)}#thread-{thread_id}")
