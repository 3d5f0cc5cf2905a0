"""Pull requests: opening, reading, changing, merging."""

from flask import Blueprint, Response, request

from forge.errors import UnprocessableError
from forge.merging import changed_files, commits_between, diff
from forge.payloads import commit, pull
from forge.rest.context import actor, answer, body, needed_text, page_of, repo_for, store, text_of, view
from forge.store.models import Role
from forge.store.pulls import MergeMethod

blueprint = Blueprint("pulls", __name__, url_prefix="/repos/<owner>/<name>/pulls")
DIFF = "application/vnd.github.diff; charset=utf-8"


@blueprint.get("")
def list_pulls(owner: str, name: str) -> Response:
    """Answer with pull requests, newest first; `head` is `owner:branch`."""
    repo = repo_for(owner, name, "pull_requests")
    state, head, base = request.args.get("state", "open"), request.args.get("head"), request.args.get("base")
    pulls = [
        one
        for one in store().pulls.all(repo)
        if state in ("all", one.issue.state)
        and (head is None or f"{(one.fork or repo).owner.login}:{one.head_ref}" == head)
        and base in (None, one.base_ref)
    ]
    found, links = page_of(pulls)
    return answer([pull.pull_simple(view(), one) for one in found], headers=links)


@blueprint.post("")
def create_pull(owner: str, name: str) -> Response:
    """Open a pull request."""
    repo = repo_for(owner, name, "pull_requests", "write")
    wanted = body()
    head, base = needed_text(wanted, "head", "PullRequest"), needed_text(wanted, "base", "PullRequest")
    made = store().pulls.create(
        repo,
        needed_text(wanted, "title", "PullRequest"),
        text_of(wanted, "body", "PullRequest"),
        head,
        base,
        actor=actor(),
        draft=bool(wanted.get("draft")),
    )
    return answer(pull.pull(view(), made), 201)


@blueprint.get("/<int:number>")
def show_pull(owner: str, name: str, number: int) -> Response:
    """Answer with a pull request, as JSON or as a diff."""
    repo = repo_for(owner, name, "pull_requests")
    one = store().pulls.get(repo, number)
    if "diff" in request.headers.get("Accept", ""):
        return Response(diff(store().repos.git(repo), one.base_sha, one.head_sha), content_type=DIFF)
    return answer(pull.pull(view(), one))


@blueprint.patch("/<int:number>")
def edit_pull(owner: str, name: str, number: int) -> Response:
    """Change title, body, base or state; drafts change through GraphQL only."""
    repo = repo_for(owner, name, "pull_requests", "write")
    one, wanted = store().pulls.get(repo, number), body()
    if one.issue.author is not actor():
        repo_for(owner, name, "pull_requests", "write", Role.WRITE)
    title, text = text_of(wanted, "title", "PullRequest"), text_of(wanted, "body", "PullRequest")
    store().issues.edit(one.issue, title=title, body=text, actor=actor())
    if wanted.get("base"):
        store().pulls.set_base(one, wanted["base"], actor=actor())
    if wanted.get("state"):
        store().issues.set_state(one.issue, wanted["state"], actor=actor())
    return answer(pull.pull(view(), one))


@blueprint.get("/<int:number>/files")
def list_files(owner: str, name: str, number: int) -> Response:
    """Answer with the changed files."""
    repo = repo_for(owner, name, "pull_requests")
    one = store().pulls.get(repo, number)
    found, links = page_of(changed_files(store().repos.git(repo), one.base_sha, one.head_sha))
    return answer([commit.file_change(view(), repo, one.head_sha, file) for file in found], headers=links)


@blueprint.get("/<int:number>/commits")
def list_commits(owner: str, name: str, number: int) -> Response:
    """Answer with the commits, oldest first."""
    repo = repo_for(owner, name, "pull_requests")
    one = store().pulls.get(repo, number)
    found, links = page_of(commits_between(store().repos.git(repo), one.base_sha, one.head_sha))
    return answer([commit.commit(view(), repo, each) for each in found], headers=links)


@blueprint.get("/<int:number>/merge")
def is_merged(owner: str, name: str, number: int) -> Response:
    """Answer 204 when merged, else 404."""
    repo = repo_for(owner, name, "pull_requests")
    merged = store().pulls.get(repo, number).merged_at is not None
    return Response(status=204 if merged else 404)


@blueprint.put("/<int:number>/merge")
def merge(owner: str, name: str, number: int) -> Response:
    """Merge; 405 when it cannot be, 409 when the head is not at `sha`."""
    repo = repo_for(owner, name, "contents", "write", Role.WRITE)
    wanted = body()
    try:
        method = MergeMethod(wanted.get("merge_method", "merge"))
    except ValueError as error:
        raise UnprocessableError.on_field("PullRequest", "merge_method", "invalid") from error
    sha = store().pulls.merge(
        store().pulls.get(repo, number),
        actor=actor(),
        method=method,
        sha=wanted.get("sha"),
        title=wanted.get("commit_title"),
        message=wanted.get("commit_message"),
    )
    return answer({"sha": sha, "merged": True, "message": "Pull Request successfully merged"})
