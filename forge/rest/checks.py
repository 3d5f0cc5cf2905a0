"""Check runs, which only an App may write, and commit statuses."""

from flask import request
from flask.typing import ResponseReturnValue

from forge.errors import ForbiddenError, NotFoundError
from forge.payloads import account, check
from forge.rest.context import (
    RepositoryRoutes,
    actor,
    body,
    caller,
    page_of,
    require_text,
    require_texts,
    store,
    view,
)
from forge.store.checks import newest
from forge.store.models import Repo, Role
from forge.store.registration import App

blueprint = RepositoryRoutes("checks")


def _writing_app() -> App:
    token = caller().token
    if token is None:
        raise ForbiddenError("You must authenticate via a GitHub App.")
    return token.installation.app


@blueprint.on("POST", "/check-runs", "checks")
def create_check_run(repo: Repo) -> ResponseReturnValue:
    app, wanted = _writing_app(), body()
    name, sha = require_texts(wanted, "CheckRun", "name", "head_sha")
    check_run = store().checks.create(repo, name, sha, wanted, app_slug=app.slug, actor=actor())
    return check.check_run(view(), check_run), 201


@blueprint.on("GET", "/check-runs/<int:number>", "checks")
def show_check_run(repo: Repo, number: int) -> ResponseReturnValue:
    return check.check_run(view(), store().checks.get(repo, number))


@blueprint.on("PATCH", "/check-runs/<int:number>", "checks")
def update_check_run(repo: Repo, number: int) -> ResponseReturnValue:
    """Change a check run of the calling App."""
    app, run = _writing_app(), store().checks.get(repo, number)
    if run.app_slug != app.slug:
        raise ForbiddenError("Invalid app_id `check_run` is not owned by this App.")
    store().checks.update(run, body(), actor=actor())
    return check.check_run(view(), run)


@blueprint.on("GET", "/actions/jobs/<int:number>/logs", "actions")
def job_log(repo: Repo, number: int) -> ResponseReturnValue:
    """Redirect to the log of a job, a download without a token; a job has the id of its check run."""
    run = store().checks.get(repo, number)
    if not run.log:
        raise NotFoundError()
    return "", 302, {"Location": f"{store().base_url}/_forge/logs/{repo.full_name}/{number}"}


@blueprint.on("GET", "/commits/<path:ref>/check-runs", "checks")
def list_check_runs(repo: Repo, ref: str) -> ResponseReturnValue:
    """Answer with the check runs of a commit: the newest of each App and name, or all.

    Source: docs.github.com/rest/checks/runs#list-check-runs-for-a-git-reference (filter).
    """
    sha = store().repos.commit_of(repo, ref)
    wanted = request.args.get("check_name")
    runs = [run for run in store().checks.on_commit(repo, sha) if wanted in (None, run.name)]
    if request.args.get("filter", "latest") == "latest":
        runs = newest(runs)
    page, links = page_of(runs)
    return {"total_count": len(runs), "check_runs": [check.check_run(view(), run) for run in page]}, links


@blueprint.on("POST", "/statuses/<sha>", "statuses", Role.WRITE)
def create_status(repo: Repo, sha: str) -> ResponseReturnValue:
    wanted = body()
    status = store().statuses.create(
        repo,
        sha,
        wanted.get("context") or "default",
        require_text(wanted, "state", "Status"),
        actor=actor(),
        description=wanted.get("description"),
        target_url=wanted.get("target_url"),
    )
    return {**check.status(view(), status), "creator": account.user(view(), status.creator)}, 201


@blueprint.on("GET", "/commits/<path:ref>/status", "contents|statuses")
def combined_status(repo: Repo, ref: str) -> ResponseReturnValue:
    """Answer with the newest status of each context, and their combined state."""
    sha = store().repos.commit_of(repo, ref)
    statuses = store().statuses.on_commit(repo, sha)
    states = {status.state for status in statuses}
    pending = not states or "pending" in states
    state = "failure" if states & {"failure", "error"} else "pending" if pending else "success"
    return {
        "state": state,
        "statuses": [check.status(view(), status) for status in statuses],
        "sha": sha,
        "total_count": len(statuses),
        "repository": account.repository(view(), repo),
        "commit_url": view().repo_api(repo, f"/commits/{sha}"),
        "url": view().repo_api(repo, f"/commits/{sha}/status"),
    }
