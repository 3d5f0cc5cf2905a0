"""Check runs, which only an App may write, and commit statuses."""

from flask import Blueprint, Response, request

from forge.errors import ForbiddenError, NotFoundError
from forge.payloads import account, check
from forge.rest.context import actor, answer, body, caller, needed_text, page_of, repo_for, store, view
from forge.store.checks import newest
from forge.store.models import Repo, Role
from forge.store.registration import App

blueprint = Blueprint("checks", __name__, url_prefix="/repos/<owner>/<name>")


def _writing_app(owner: str, name: str) -> tuple[Repo, App]:
    repo = repo_for(owner, name, "checks", "write")
    token = caller().token
    if token is None:
        raise ForbiddenError("You must authenticate via a GitHub App.")
    return repo, token.installation.app


@blueprint.post("/check-runs")
def create_check_run(owner: str, name: str) -> Response:
    """Create a check run."""
    repo, app = _writing_app(owner, name)
    wanted = body()
    title, sha = needed_text(wanted, "name", "CheckRun"), needed_text(wanted, "head_sha", "CheckRun")
    made = store().checks.create(repo, title, sha, wanted, app_slug=app.slug, actor=actor())
    return answer(check.check_run(view(), made), 201)


@blueprint.get("/check-runs/<int:number>")
def show_check_run(owner: str, name: str, number: int) -> Response:
    """Answer with a check run."""
    repo = repo_for(owner, name, "checks")
    return answer(check.check_run(view(), store().checks.get(repo, number)))


@blueprint.patch("/check-runs/<int:number>")
def update_check_run(owner: str, name: str, number: int) -> Response:
    """Change a check run of one's own."""
    repo, app = _writing_app(owner, name)
    run = store().checks.get(repo, number)
    if run.app_slug != app.slug:
        raise ForbiddenError("Invalid app_id `check_run` is not owned by this App.")
    store().checks.update(run, body(), actor=actor())
    return answer(check.check_run(view(), run))


@blueprint.get("/actions/jobs/<int:number>/logs")
def job_log(owner: str, name: str, number: int) -> Response:
    """Send whoever asks to the log of a job, which has its check run's id: a download without a token."""
    repo = repo_for(owner, name, "actions")
    run = store().checks.get(repo, number)
    if not run.log:
        raise NotFoundError()
    place = f"{store().base_url}/_forge/logs/{repo.owner.login}/{repo.name}/{number}"
    return Response(status=302, headers={"Location": place})


@blueprint.get("/commits/<path:ref>/check-runs")
def list_check_runs(owner: str, name: str, ref: str) -> Response:
    """Answer with the check runs of a commit: of each App's name the newest, or all.

    Source: docs.github.com/rest/checks/runs#list-check-runs-for-a-git-reference (filter).
    """
    repo = repo_for(owner, name, "checks")
    sha = store().repos.commit_of(repo, ref)
    wanted = request.args.get("check_name")
    runs = [run for run in store().checks.on_commit(repo, sha) if wanted in (None, run.name)]
    if request.args.get("filter", "latest") == "latest":
        runs = newest(runs)
    found, links = page_of(runs)
    shown = [check.check_run(view(), run) for run in found]
    return answer({"total_count": len(runs), "check_runs": shown}, headers=links)


@blueprint.post("/statuses/<sha>")
def create_status(owner: str, name: str, sha: str) -> Response:
    """Say something of a commit in the older way."""
    repo = repo_for(owner, name, "statuses", "write", Role.WRITE)
    wanted = body()
    made = store().statuses.create(
        repo,
        sha,
        wanted.get("context") or "default",
        needed_text(wanted, "state", "Status"),
        actor=actor(),
        description=wanted.get("description"),
        target_url=wanted.get("target_url"),
    )
    return answer({**check.status(view(), made), "creator": account.user(view(), made.creator)}, 201)


@blueprint.get("/commits/<path:ref>/status")
def combined_status(owner: str, name: str, ref: str) -> Response:
    """Answer with the newest status of each context, and what they come to."""
    repo = repo_for(owner, name, "contents|statuses")
    sha = store().repos.commit_of(repo, ref)
    found = store().statuses.on_commit(repo, sha)
    states = {one.state for one in found}
    pending = not states or "pending" in states
    state = "failure" if states & {"failure", "error"} else "pending" if pending else "success"
    return answer(
        {
            "state": state,
            "statuses": [check.status(view(), one) for one in found],
            "sha": sha,
            "total_count": len(found),
            "repository": account.repository(view(), repo),
            "commit_url": view().repo_api(repo, f"/commits/{sha}"),
            "url": view().repo_api(repo, f"/commits/{sha}/status"),
        }
    )
