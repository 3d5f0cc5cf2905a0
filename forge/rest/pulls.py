"""Pull requests: opening, reading, changing, merging."""

from flask import Response, request
from flask.typing import ResponseReturnValue

from forge.errors import UnprocessableError
from forge.git.merging import commits_between, diff, list_changed_files
from forge.payloads import commit, pull
from forge.rest.access import require_workflows
from forge.rest.context import (
    RepositoryRoutes,
    actor,
    answer_page,
    body,
    caller,
    require_author,
    require_texts,
    store,
    text_of,
    view,
)
from forge.store.models import Repo, Role
from forge.store.pulls import MergeMethod

blueprint = RepositoryRoutes("pulls", "/pulls")
DIFF = "application/vnd.github.diff; charset=utf-8"


@blueprint.on("GET", "", "pull_requests")
def list_pulls(repo: Repo) -> ResponseReturnValue:
    """Answer with pull requests, newest first; `head` is `owner:branch`."""
    state, head, base = request.args.get("state", "open"), request.args.get("head"), request.args.get("base")
    pulls = [
        candidate
        for candidate in store().pulls.all(repo)
        if state in ("all", candidate.issue.state)
        and (head is None or f"{(candidate.fork or repo).owner.login}:{candidate.head_ref}" == head)
        and base in (None, candidate.base_ref)
    ]
    if request.args.get("sort") == "updated":
        pulls.sort(key=lambda it: it.issue.updated_at, reverse=request.args.get("direction") == "desc")
    return answer_page(pulls, pull.pull_simple)


@blueprint.on("POST", "", "pull_requests")
def create_pull(repo: Repo) -> ResponseReturnValue:
    wanted = body()
    head, base, title = require_texts(wanted, "PullRequest", "head", "base", "title")
    text, draft = text_of(wanted, "body", "PullRequest"), bool(wanted.get("draft"))
    sha = store().repos.git(repo).refs().get(f"refs/heads/{head}", "")
    known = store().faults.delays, repo.pushed_at, store().clock.now()
    if caller().token is not None and known[0].is_behind("heads", sha, *known[1:]):
        raise UnprocessableError.on_field("PullRequest", "head", "invalid")
    new_pull = store().pulls.create(repo, title, text, head, base, actor=actor(), draft=draft)
    return pull.pull(view(), new_pull), 201


@blueprint.on("GET", "/<int:number>", "pull_requests")
def show_pull(repo: Repo, number: int) -> ResponseReturnValue:
    """Answer with a pull request, as JSON or as a diff."""
    subject = store().pulls.get(repo, number)
    if "diff" in request.headers.get("Accept", ""):
        return Response(diff(store().repos.git(repo), subject.base_sha, subject.head_sha), content_type=DIFF)
    return pull.pull(view(), subject)


@blueprint.on("PATCH", "/<int:number>", "pull_requests")
def edit_pull(repo: Repo, number: int) -> ResponseReturnValue:
    """Change title, body, base or state; drafts change through GraphQL only."""
    subject, wanted = store().pulls.get(repo, number), body()
    require_author(subject.issue.author, repo, "pull_requests", Role.WRITE)
    title, text = text_of(wanted, "title", "PullRequest"), text_of(wanted, "body", "PullRequest")
    store().issues.edit(subject.issue, title=title, body=text, actor=actor())
    if wanted.get("base"):
        store().pulls.set_base(subject, wanted["base"], actor=actor())
    if wanted.get("state"):
        store().issues.set_state(subject.issue, wanted["state"], actor=actor())
    return pull.pull(view(), subject)


@blueprint.on("GET", "/<int:number>/files", "pull_requests")
def list_files(repo: Repo, number: int) -> ResponseReturnValue:
    subject = store().pulls.get(repo, number)
    files = list_changed_files(store().repos.git(repo), subject.base_sha, subject.head_sha)
    return answer_page(files, lambda here, file: commit.file_change(here, repo, subject.head_sha, file))


@blueprint.on("GET", "/<int:number>/commits", "pull_requests")
def list_commits(repo: Repo, number: int) -> ResponseReturnValue:
    """Answer with the commits, oldest first."""
    subject = store().pulls.get(repo, number)
    commits = commits_between(store().repos.git(repo), subject.base_sha, subject.head_sha)
    return answer_page(commits, lambda here, each: commit.commit(here, repo, each))


@blueprint.on("GET", "/<int:number>/merge", "pull_requests")
def is_merged(repo: Repo, number: int) -> ResponseReturnValue:
    """Answer 204 when merged, else 404."""
    merged = store().pulls.get(repo, number).merged_at is not None
    return Response(status=204 if merged else 404)


@blueprint.on("PUT", "/<int:number>/merge", "contents", Role.WRITE)
def merge(repo: Repo, number: int) -> ResponseReturnValue:
    """Merge; 405 when it cannot be, 409 when the head is not at `sha`."""
    wanted = body()
    try:
        method = MergeMethod(wanted.get("merge_method", "merge"))
    except ValueError as error:
        raise UnprocessableError.on_field("PullRequest", "merge_method", "invalid") from error
    subject = store().pulls.get(repo, number)
    require_workflows(caller(), store().pulls.paths(subject))
    sha = store().pulls.merge(
        subject,
        actor=actor(),
        method=method,
        sha=wanted.get("sha"),
        title=wanted.get("commit_title"),
        message=wanted.get("commit_message"),
    )
    return {"sha": sha, "merged": True, "message": "Pull Request successfully merged"}
